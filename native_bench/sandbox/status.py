"""Reads what bubblewrap tells about its sandbox, and finds the sandbox's processes as the host numbers them."""

import contextlib
import json
import os
import select
import signal
import time
from pathlib import Path
from typing import Any

_TICK_SECONDS = 0.001


class SetupFailed(Exception):
    """The sandbox ended before it stood; its stderr says why."""


class StatusPipe:
    """The reading end of --json-status-fd.

    The keeper is the first process of the outermost pid namespace: when it is gone, so are all others.
    The reaper is bubblewrap's process 1 inside, parent of the payload.
    """

    def __init__(self, descriptor: int, outer_pid: int, is_nested: bool) -> None:
        self._descriptor = descriptor
        self._outer_pid = outer_pid
        self._is_nested = is_nested
        self._text = b""
        self._keeper: int | None = None
        self.reaper_pid: int | None = None

    def find_processes(self, seconds: float) -> None:
        """Wait until bubblewrap has forked. Raises SetupFailed at the end of the pipe or of patience.

        A sandbox that has ended meanwhile shows its processes no more; that is no failure.
        """
        deadline = time.monotonic() + seconds
        while self._value("child-pid") is None:
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                raise SetupFailed
        monitor = _only(children_of(self._outer_pid)) if self._is_nested else self._outer_pid
        self.reaper_pid = _only(children_of(monitor)) if monitor is not None else None
        self._hold(monitor if self._is_nested else self.reaper_pid)

    def _hold(self, keeper: int | None) -> None:
        if keeper is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._keeper = os.pidfd_open(keeper)
        # Looked at again once it is held: only then is the number sure to be the same process.
        if keeper not in children_of(self._outer_pid):
            self._forget_keeper()

    def open_folders(self, mark: str, targets: list[str], seconds: float) -> list[int]:
        """Open folders inside, once the mark shows that the reaper has left the host's root."""
        root = Path(f"/proc/{self.reaper_pid}/root")
        deadline = time.monotonic() + seconds
        while not _is_there(root / mark.lstrip("/")):
            if time.monotonic() > deadline or self.wait_for_end(_TICK_SECONDS):
                raise SetupFailed
        wary = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        opened: list[int] = []
        try:
            for target in targets:
                opened.append(os.open(root / target.lstrip("/"), wary))
        except OSError as error:
            for descriptor in opened:
                os.close(descriptor)
            raise SetupFailed from error
        return opened

    def wait_for_end(self, seconds: float) -> bool:
        """Whether no process of the sandbox is left."""
        return self._keeper is None or _is_ready(self._keeper, seconds)

    def kill_keeper(self) -> None:
        if self._keeper is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._keeper, signal.SIGKILL)

    def exit_code(self) -> int | None:
        """Told only of a payload that was executed and ended by itself."""
        while self._read(0):
            pass
        return self._value("exit-code")

    def close(self) -> None:
        os.close(self._descriptor)
        self._forget_keeper()

    def _forget_keeper(self) -> None:
        if self._keeper is not None:
            os.close(self._keeper)
            self._keeper = None

    def _read(self, seconds: float) -> bool:
        if not _is_ready(self._descriptor, seconds):
            return False
        chunk = os.read(self._descriptor, 4096)
        self._text += chunk
        return bool(chunk)

    def _value(self, name: str) -> int | None:
        for line in self._text.split(b"\n")[:-1]:
            told: dict[str, Any] = json.loads(line)
            if name in told:
                return int(told[name])
        return None


def children_of(pid: int) -> list[int]:
    """Host pids of a process's children; none when it has ended."""
    found: list[int] = []
    try:
        for listing in Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(child) for child in listing.read_text().split()]
    except OSError:
        return []
    return found


def _only(pids: list[int]) -> int | None:
    return pids[0] if len(pids) == 1 else None


def _is_ready(descriptor: int, seconds: float) -> bool:
    # Not select(): it can't take descriptors over 1023.
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True
