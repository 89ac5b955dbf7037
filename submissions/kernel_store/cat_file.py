"""One persistent `git cat-file --batch` per reader: thread-safe, replaced after a fork or a death."""

import os
import subprocess
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.git import Git, is_object_id

# 96 ids of 41 bytes fit the smallest pipe the kernel gives (one page), so asking never blocks on the answers.
_NAMES_AT_ONCE = 96
_PAGE_BYTES = 4096
_READ_BYTES = 1 << 16


@dataclass(frozen=True)
class GitObject:
    """An object as git stores it."""

    id: str
    kind: str
    content: bytes


class CatFile:
    """Answers what an object name holds; names are resolved anew at each question, refs included."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lock = threading.Lock()
        self._conversation: _Conversation | None = None
        _INSTANCES.add(self)

    def get(self, name: str) -> GitObject | None:
        """Return the object with this name, such as `<commit>:<path>` or a full ref; None when there is none."""
        return self._ask([name])[0]

    def get_all(self, names: Iterable[str]) -> Iterator[GitObject | None]:
        """Yield the objects in the order of their names; other threads may ask in between."""
        remaining = iter(names)
        while chunk := list(islice(remaining, _NAMES_AT_ONCE)):
            yield from self._ask(chunk)

    def close(self) -> None:
        """End the process; a later question starts a new one."""
        with self._lock:
            self._discard()

    def after_fork(self) -> None:
        """Forget the parent's lock, which one of its threads may have held at the fork."""
        self._lock = threading.Lock()

    def _ask(self, names: list[str]) -> list[GitObject | None]:
        for name in names:
            if "\n" in name or "\0" in name:
                raise Broken("store:bad-path", f"{name!r} cannot be the name of a git object")
        with self._lock:
            try:
                return self._current().ask(names)
            except (OSError, EOFError):
                # The process died since the last question: an operator's kill, or memory pressure. Once more.
                self._discard()
            except BaseException:
                # A half-read answer would be taken for the next one's: never reuse the process.
                self._discard()
                raise
            try:
                return self._current().ask(names)
            except (OSError, EOFError):
                self._discard()
                raise Broken(
                    "store:git-failed", f"git cat-file died twice over {names[0]!r}; run git fsck"
                ) from None

    def _current(self) -> "_Conversation":
        if self._conversation is None or not self._conversation.is_ours:
            self._discard()
            self._conversation = _Conversation(self._git.start("cat-file", "--batch"))
        return self._conversation

    def _discard(self) -> None:
        if self._conversation is not None:
            self._conversation.end()
        self._conversation = None


_INSTANCES: "weakref.WeakSet[CatFile]" = weakref.WeakSet()


def _renew_locks() -> None:
    for instance in list(_INSTANCES):
        instance.after_fork()


os.register_at_fork(after_in_child=_renew_locks)


class _Conversation:
    """The two pipes of one process, read without Python's buffers, whose locks would not survive a fork."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._owner_pid = os.getpid()
        self._buffer = bytearray()
        self.end = weakref.finalize(self, _end, process, self._owner_pid)

    @property
    def is_ours(self) -> bool:
        return self._owner_pid == os.getpid()

    def ask(self, names: list[str]) -> list[GitObject | None]:
        questions = [f"{name}\n".encode() for name in names]
        # Names with paths may not fit the pipe together; then they go one by one.
        batches = (
            [questions] if sum(map(len, questions)) <= _PAGE_BYTES else [[question] for question in questions]
        )
        answers: list[GitObject | None] = []
        for batch in batches:
            self._send(b"".join(batch))
            answers += [self._answer() for _ in batch]
        return answers

    def _send(self, data: bytes) -> None:
        stdin = self._process.stdin
        while data and stdin is not None:
            data = data[os.write(stdin.fileno(), data) :]

    def _answer(self) -> GitObject | None:
        while (end := self._buffer.find(b"\n")) < 0:
            self._fill()
        header = self._buffer[:end].decode("utf-8", "replace")
        del self._buffer[: end + 1]
        words = header.split(" ")
        if len(words) != 3 or not is_object_id(words[0]):
            return None
        size = int(words[2])
        while len(self._buffer) <= size:
            self._fill()
        content = bytes(self._buffer[:size])
        del self._buffer[: size + 1]
        return GitObject(words[0], words[1], content)

    def _fill(self) -> None:
        stdout = self._process.stdout
        data = os.read(stdout.fileno(), _READ_BYTES) if stdout is not None else b""
        if not data:
            raise EOFError
        self._buffer += data


def _end(process: subprocess.Popen[bytes], owner_pid: int) -> None:
    """Close the pipes and reap the process; in a forked child only the copies of the pipes are ours."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    if owner_pid != os.getpid():
        process.returncode = 0
        return
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
