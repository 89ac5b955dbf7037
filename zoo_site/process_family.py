"""Processes with all that descends from them, as the kernel lists them: who is left, and an end to all of them."""

import os
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOOK_EVERY_SECONDS = 0.02


class Families:
    """Each leader with its session and whatever is started in it.

    Each look follows children into sessions of their own, so that a session stays known once its parent is gone.
    """

    def __init__(self, leaders: Iterable[int], pools: Iterable[int] = ()) -> None:
        """Look for the first time. `pools` are the leaders that have nothing to do once they are alone."""
        self._sessions = {leader: {leader} for leader in leaders}
        self._pools = tuple(pools)
        self._look()

    def living(self) -> set[int]:
        """Return the pids of those that have not ended."""
        return set().union(*self._look().values())

    def ask_to_end(self) -> None:
        """Send SIGTERM to the leaders' groups; what they started in other sessions is theirs to end."""
        for leader in self._sessions:
            signal_group(leader, signal.SIGTERM)

    def are_gone_within(self, seconds: float) -> bool:
        """Wait until nobody is left, no longer than told; a pool's leader that is alone is ended."""
        deadline = time.monotonic() + seconds
        while any((living := self._look()).values()):
            if time.monotonic() >= deadline:
                return False
            _kill(leader for leader in self._pools if living[leader] == {leader})
            time.sleep(_LOOK_EVERY_SECONDS)
        return True

    def kill_within(self, seconds: float) -> bool:
        """Kill again and again, for a dying family may still grow; return whether nobody is left."""
        deadline = time.monotonic() + seconds
        while living := self.living():
            if time.monotonic() >= deadline:
                return False
            _kill(living)
            time.sleep(_LOOK_EVERY_SECONDS)
        return True

    def _look(self) -> dict[int, set[int]]:
        processes = _processes()
        return {leader: _living(processes, sessions) for leader, sessions in self._sessions.items()}


def signal_group(leader: int, number: int) -> None:
    """Send a signal to a process group, if there is one."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def start_of(pid: int) -> int | None:
    """Return when a process began, in clock ticks (None: gone), which tells it from a later one with its pid."""
    process = _process(pid)
    return process.start if process else None


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Process:
    parent: int
    session: int
    start: int
    is_over: bool


def _living(processes: Mapping[int, _Process], sessions: set[int]) -> set[int]:
    """Return who lives of these sessions and of their descendants, whose sessions are added."""
    members: set[int] = set()
    found = {pid for pid, process in processes.items() if process.session in sessions}
    while found:
        members |= found
        found = {pid for pid, process in processes.items() if process.parent in members} - members
    sessions |= {processes[pid].session for pid in members}
    return {pid for pid in members if not processes[pid].is_over}


def _processes() -> dict[int, _Process]:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return {pid: process for pid in pids if (process := _process(pid))}


def _process(pid: int) -> _Process | None:
    try:
        # The name before the last parenthesis may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return _Process(int(fields[1]), int(fields[3]), int(fields[19]), fields[0] in "ZX")
