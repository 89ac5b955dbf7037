"""Reads what bubblewrap tells about its sandbox, and follows the sandbox's own first process."""

import contextlib
import json
import os
import select
import time
from pathlib import Path
from typing import Any

_TICK_SECONDS = 0.001


class SetupFailed(Exception):
    """The sandbox ended before it stood; its stderr says why."""


class StatusPipe:
    """The reading end of --json-status-fd. `inner_pid` is process 1 of the sandbox: when it is gone, all are."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._text = b""
        self._inner: int | None = None
        self.inner_pid: int | None = None

    def wait_for_inner(self, outer_pid: int, seconds: float) -> None:
        """Wait for the number of process 1. Raises SetupFailed at the end of the pipe or of patience."""
        deadline = time.monotonic() + seconds
        while (pid := self._value("child-pid")) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                raise SetupFailed
        self.inner_pid = pid
        with contextlib.suppress(OSError):
            self._inner = os.pidfd_open(pid)
            if _parent_of(pid) != outer_pid:
                # It has ended already and its number is someone else's.
                os.close(self._inner)
                self._inner = None

    def open_folders(self, mark: str, targets: list[str], seconds: float) -> list[int]:
        """Open folders inside, once the mark shows that process 1 has left the host's root."""
        root = Path(f"/proc/{self.inner_pid}/root")
        deadline = time.monotonic() + seconds
        while not _is_there(root / mark.lstrip("/")):
            if time.monotonic() > deadline or self.wait_for_inner_end(_TICK_SECONDS):
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

    def wait_for_inner_end(self, seconds: float) -> bool:
        if self._inner is None:
            return True
        return _is_ready(self._inner, seconds)

    def exit_code(self) -> int | None:
        """Told only of a payload that was executed and ended by itself."""
        while self._read(0):
            pass
        return self._value("exit-code")

    def close(self) -> None:
        os.close(self._descriptor)
        if self._inner is not None:
            os.close(self._inner)

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


def _is_ready(descriptor: int, seconds: float) -> bool:
    # Not select(): it can't take descriptors over 1023.
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True
