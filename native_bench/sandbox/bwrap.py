"""The bubblewrap backend: puts plan, group, pipes and process together into a running cell."""

import contextlib
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from native_bench.sandbox.cell import BwrapCell, Held
from native_bench.sandbox.cgroup import create_group
from native_bench.sandbox.equipment import FIRST_UID, UIDS_PER_SLOT, Equipment
from native_bench.sandbox.interface import Bind, Exit, Limits
from native_bench.sandbox.plan import MARK, Descriptors, Identity, command, make_plan
from native_bench.sandbox.spawning import Streams, spawn
from native_bench.sandbox.status import SetupFailed, StatusPipe

_SETUP_SECONDS = 20.0


@dataclass(frozen=True)
class _Job:
    """What one start was asked for."""

    argv: Sequence[str]
    limits: Limits
    binds: Sequence[Bind]
    pass_fds: Sequence[int]
    env: Mapping[str, str]
    stdin: bytes

    @property
    def writable(self) -> list[Bind]:
        return [bind for bind in self.binds if bind.writable]


class BwrapSandbox:
    """Runs each program in a bubblewrap of its own, under a host uid of its own where we are root."""

    def __init__(self, equipment: Equipment, isolation: str, reasons: tuple[str, ...], slot: int) -> None:
        self.equipment = equipment
        self.isolation = isolation
        self.reasons = reasons
        # Two cells at once under one uid would share its per-user limits.
        first = FIRST_UID + slot * UIDS_PER_SLOT
        self._uids: Iterator[int] = itertools.cycle(range(first, first + UIDS_PER_SLOT))

    def run(
        self,
        argv: Sequence[str],
        limits: Limits,
        binds: Sequence[Bind] = (),
        stdin: bytes = b"",
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> Exit:
        with self._open(_Job(argv, limits, binds, pass_fds, env or {}, stdin)) as cell:
            return cell.wait()

    def start(
        self,
        argv: Sequence[str],
        limits: Limits,
        binds: Sequence[Bind] = (),
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> BwrapCell:
        return self._open(_Job(argv, limits, binds, pass_fds, env or {}, b""))

    def _open(self, job: _Job) -> BwrapCell:
        hierarchy = self.equipment.hierarchy
        group = create_group(hierarchy, job.limits) if hierarchy is not None else None
        try:
            return self._launch(job, Identity(next(self._uids), group))
        except BaseException:
            if group is not None:
                group.remove()
            raise

    def _launch(self, job: _Job, identity: Identity) -> BwrapCell:
        plan = make_plan(self.equipment, identity, job.limits, job.binds, job.env)
        started_at = time.monotonic()
        with ExitStack() as child_ends:
            options = _sealed(child_ends, "sandbox-options", plan.packed_options())
            seccomp = _sealed(child_ends, "sandbox-filter", self.equipment.seccomp)
            status_end, status = _pipe(child_ends)
            gate_end, gate = _gate(child_ends) if job.writable else (None, None)
            numbers = Descriptors(options, seccomp, status, gate)
            argv = command(self.equipment, plan, job.limits, numbers, job.argv)
            ours = [number for number in (options, seccomp, status, gate) if number is not None]
            process = _spawn(argv, job, ours, status_end, gate_end)
        held = Held(
            StatusPipe(status_end, process.pid, self.equipment.nests), started_at, job.stdin, identity.group
        )
        _await_setup(process, held, job, gate_end)
        return BwrapCell(process, job.limits, held)


def _spawn(
    argv: Sequence[str], job: _Job, ours: Sequence[int], status_end: int, gate_end: int | None
) -> "subprocess.Popen[bytes]":
    streams: Streams = (
        subprocess.PIPE if job.stdin else subprocess.DEVNULL,
        subprocess.PIPE,
        subprocess.PIPE,
    )
    try:
        return spawn(argv, streams, (*ours, *job.pass_fds))
    except OSError:
        os.close(status_end)
        if gate_end is not None:
            os.close(gate_end)
        raise


def _await_setup(process: "subprocess.Popen[bytes]", held: Held, job: _Job, gate_end: int | None) -> None:
    """Wait until the sandbox's first process is known: from then on nothing of it can outlive a kill.

    A failure is left for the cell to report: it finds the process ended.
    """
    try:
        held.status.find_processes(_SETUP_SECONDS)
        if gate_end is not None:
            targets = [bind.target for bind in job.writable]
            opened = held.status.open_folders(MARK, targets, _SETUP_SECONDS)
            held.outputs = [(inside, bind.source) for inside, bind in zip(opened, job.writable, strict=True)]
    except SetupFailed:
        _strike(process)
    except BaseException:  # our own interruption: no cell will ever own the process
        _strike(process)
        process.communicate()
        held.status.close()
        raise
    finally:
        if gate_end is not None:
            os.close(gate_end)


def _strike(process: "subprocess.Popen[bytes]") -> None:
    # Not Popen.kill: it may reap the process, which the cell has yet to follow.
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


def _sealed(opened: ExitStack, name: str, content: bytes) -> int:
    """A descriptor that reads as `content`; a pipe could block on more than its capacity."""
    descriptor = os.memfd_create(name)
    opened.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _pipe(child_ends: ExitStack) -> tuple[int, int]:
    ours, theirs = os.pipe()
    child_ends.callback(os.close, theirs)
    return ours, theirs


def _gate(child_ends: ExitStack) -> tuple[int, int]:
    """A pipe that holds the payload back until our end is closed."""
    theirs, ours = os.pipe()
    child_ends.callback(os.close, theirs)
    return ours, theirs
