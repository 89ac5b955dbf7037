"""Stand between the daemon and the engine: own the kill.

Started as a program of its own, by path, with only the standard library. It keeps the engine until the deadline
that the daemon last wrote on the control pipe, and ends it with all its descendants when the deadline passes, when
the daemon asks, or when the pipe closes because the daemon died. A daemon that hangs, is frozen or is killed can
therefore neither leave a process behind nor outlive its lease.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Sequence

EXIT_DEADLINE = 250
EXIT_STOPPED = 251
EXIT_ORPHANED = 252
EXIT_NOT_STARTED = 127

TERM_GRACE_SECONDS = 1.0
_TICK_SECONDS = 1.0

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def now_seconds() -> float:
    """Read the clock of deadlines: monotonic, one for all processes, and it goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def guard(control_fd: int, workspace: str, deadline: float, argv: Sequence[str]) -> int:
    """Run the engine under guard; return its exit status, or which of the three ends it met."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    engine = _start(argv, workspace)
    _close_standard_streams()
    pidfd = os.pidfd_open(engine)
    status = _watch(pidfd, control_fd, deadline)
    if status is not None:
        _kill_group(engine, signal.SIGTERM)
        select.select([pidfd], [], [], TERM_GRACE_SECONDS)
    engine_status = _end_all(engine)
    if status == EXIT_ORPHANED:
        shutil.rmtree(workspace, ignore_errors=True)
    return engine_status if status is None else status


def _start(argv: Sequence[str], workspace: str) -> int:
    guard_pid = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard_pid:
            # The guard died before the line above could bind us to it.
            os._exit(EXIT_NOT_STARTED)
        os.chdir(workspace)
        os.execv(argv[0], list(argv))  # noqa: S606
    finally:
        os._exit(EXIT_NOT_STARTED)


def _watch(pidfd: int, control_fd: int, deadline: float) -> int | None:
    """Wait for the first end: None where the engine ended by itself."""
    poller = select.poll()
    poller.register(control_fd, select.POLLIN)
    poller.register(pidfd, select.POLLIN)
    pending = b""
    while (remaining := deadline - now_seconds()) > 0:
        # A sleeping machine stops poll's clock but not ours, hence the short slices.
        ready = {fd for fd, _ in poller.poll(min(remaining, _TICK_SECONDS) * 1000)}
        if pidfd in ready:
            return None
        if control_fd in ready:
            data = os.read(control_fd, 4096)
            if not data:
                return EXIT_ORPHANED
            *lines, pending = (pending + data).split(b"\n")
            if b"stop" in lines:
                return EXIT_STOPPED
            deadline = float(lines[-1]) if lines else deadline
    return EXIT_DEADLINE


def _end_all(engine: int) -> int:
    """End the engine's session and what was orphaned to us, until no child is left; return the engine's status."""
    _kill_group(engine, signal.SIGKILL)
    status = EXIT_NOT_STARTED
    # As the subreaper we inherit each descendant whose parent dies; killing those frees the next level.
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            pid, raw = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if pid == engine:
            code = os.waitstatus_to_exitcode(raw)
            status = code if code >= 0 else 128 - code


def _kill_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _children() -> list[int]:
    entries = os.listdir("/proc")  # noqa: PTH208
    return [int(entry) for entry in entries if entry.isdecimal() and _parent(entry) == os.getpid()]


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123
            # The name before the last parenthesis may hold anything.
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _close_standard_streams() -> None:
    # Only the engine may hold its pipes: else the daemon would not see them close.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def main() -> int:
    """Run as a program: control descriptor, workspace, deadline, then the engine's command."""
    control_fd, workspace, deadline, *argv = sys.argv[1:]
    for fd in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        # Neither the control pipe nor a lock that we hold is the engine's.
        if fd > 2:
            with contextlib.suppress(OSError):
                os.set_inheritable(fd, False)
    return guard(int(control_fd), workspace, float(deadline), argv)


if __name__ == "__main__":
    sys.exit(main())
