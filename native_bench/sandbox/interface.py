"""What the engine asks of a sandbox, whichever backend answers.

A sandboxed process sees only /usr (read-only), a private /proc, /dev, /tmp and /dev/shm, and what its binds add.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

Status = Literal["exited", "signalled", "timed_out", "out_of_memory", "output_flood", "setup_failed"]

MIB = 1 << 20


class SandboxMissing(Exception):
    """Submitted code can't be isolated on this machine; the message says why and what to install or allow."""


class OutputRefused(Exception):
    """A result file is absent, too large, or no regular file (a link or a fifo left in wait for the reader)."""


@dataclass(frozen=True)
class Bind:
    """One more path inside.

    Read-only binds show `source` itself. A writable bind is an empty in-memory folder of `Limits.out_bytes`;
    the regular files left in it are copied to the host folder `source` once the process has ended by itself.
    A device bind shows a device node (a GPU) in full.
    """

    source: Path
    target: str
    writable: bool = False
    device: bool = False


@dataclass(frozen=True)
class Limits:
    """The bounds of one sandboxed process tree; memory and file sizes hold for tmpfs contents too."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int
    processes: int
    file_bytes: int
    output_bytes: int = MIB
    tmp_bytes: int = 64 * MIB
    out_bytes: int = 64 * MIB
    shm_bytes: int = 16 * MIB
    open_files: int = 1024
    cpus: tuple[int, ...] = ()
    nice: int = 0


@dataclass(frozen=True)
class Exit:
    """How a process ended. The code is the payload's own claim: zero proves nothing about what it did."""

    status: Status
    code: int | None
    signal: str | None
    stdout: bytes
    stderr: bytes
    wall_seconds: float

    @property
    def is_ok(self) -> bool:
        return self.status == "exited" and self.code == 0


class Cell(Protocol):
    """A running sandbox. Leaving the context, or `kill`, ends every process in it before returning."""

    @property
    def pid(self) -> int:
        """The host pid of the sandbox's outer process."""
        ...

    def payload_pids(self) -> tuple[int, ...]:
        """Host pids of the processes inside, the started one first; empty once they have ended."""
        ...

    def poll(self) -> Exit | None: ...

    def wait(self, timeout: float | None = None) -> Exit:
        """Raises TimeoutError when the process has not ended after `timeout` seconds; it goes on running."""
        ...

    def kill(self) -> Exit: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Sandbox(Protocol):
    """Runs programs in isolation; `isolation` names its strength and `reasons` what keeps it from "full"."""

    @property
    def isolation(self) -> str: ...

    @property
    def reasons(self) -> tuple[str, ...]: ...

    def run(
        self,
        argv: Sequence[str],
        limits: Limits,
        binds: Sequence[Bind] = (),
        stdin: bytes = b"",
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> Exit:
        """Run to the end. Passed descriptors keep their numbers inside; anything else is closed."""
        ...

    def start(
        self,
        argv: Sequence[str],
        limits: Limits,
        binds: Sequence[Bind] = (),
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> Cell:
        """Start a long-lived process with an empty stdin; returns once it is certain to die with us."""
        ...
