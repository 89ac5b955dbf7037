"""Start a program in a session of its own with exactly the file descriptors it is given."""

import os
import select
import signal
from collections.abc import Mapping, Sequence


def spawn(
    argv: Sequence[str], environment: Mapping[str, str], streams: tuple[int, int, int], keep: Sequence[int] = ()
) -> int:
    """Return the pid; `streams` become its stdin, stdout and stderr, what is in `keep` stays open as it is."""
    actions = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(streams)]
    # Onto itself: clears close-on-exec in the new program only, never in ours.
    actions += [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in keep]
    return os.posix_spawn(
        argv[0],
        list(argv),
        environment,
        file_actions=actions,
        setsid=True,
        setsigmask=(),
        # Our caller may ignore these, and what is ignored is inherited.
        setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE),
    )


class Child:
    """A spawned process, waited for by its pidfd and reaped once."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self._status: int | None = None

    def wait(self, timeout: float) -> int | None:
        """Return the exit status, 128 + n for signal n, or None where it still runs after the time."""
        if self._status is None and select.select([self.pidfd], [], [], timeout)[0]:
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            self._status = code if code >= 0 else 128 - code
        return self._status

    def kill(self) -> None:
        if self._status is None:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            self.wait(60)

    def close(self) -> None:
        os.close(self.pidfd)
