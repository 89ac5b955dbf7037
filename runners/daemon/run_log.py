"""Forward a run's log in numbered chunks: the head as it comes, then only the newest, sent at the end."""

from collections import deque

HEAD_CHARACTERS = 64 * 1024
TAIL_CHARACTERS = 192 * 1024
CHUNK_CHARACTERS = 16 * 1024


class RunLog:
    """Bounded in memory and on the wire, however much the engine writes."""

    def __init__(self, head: int = HEAD_CHARACTERS, tail: int = TAIL_CHARACTERS) -> None:
        self._head_room = head
        self._tail_limit = tail
        self._waiting = ""
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._left_out = 0
        self._sequence = 1
        self._current: tuple[int, str] | None = None

    def add(self, text: str) -> None:
        """Take text: what still fits the head waits to be sent, the rest joins the tail."""
        head, rest = text[: self._head_room], text[self._head_room :]
        self._head_room -= len(head)
        self._waiting += head
        if rest:
            self._keep_in_tail(rest)

    def close(self) -> None:
        """Let the tail be sent too, with a note of what lies between."""
        if self._left_out:
            self._waiting += f"\n[{self._left_out} characters left out]\n"
        self._waiting += "".join(self._tail)
        self._tail.clear()

    def next_chunk(self) -> tuple[int, str] | None:
        """Return what to send now, with its number; the same again until `taken`."""
        if self._current is None and self._waiting:
            # Frozen: the site may have it although its answer got lost, and takes a number only once.
            self._current = (self._sequence, self._waiting[:CHUNK_CHARACTERS])
            self._waiting = self._waiting[CHUNK_CHARACTERS:]
            self._sequence += 1
        return self._current

    def taken(self) -> None:
        """Note that the site has the chunk that `next_chunk` named."""
        self._current = None

    def _keep_in_tail(self, text: str) -> None:
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size > self._tail_limit:
            oldest = self._tail.popleft()
            kept = oldest[self._tail_size - self._tail_limit :]
            gone = len(oldest) - len(kept)
            self._left_out += gone
            self._tail_size -= gone
            if kept:
                self._tail.appendleft(kept)
