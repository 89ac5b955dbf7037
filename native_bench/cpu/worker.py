"""A contestant's worker: a fresh sandboxed process that loads one library and seals itself."""

import select
import signal
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from native_bench.cpu.arena import Arena, Fault, SharedArena, place_at
from native_bench.cpu.timer import Timer
from native_bench.outcome import RunEnded, infra
from native_bench.sandbox.interface import Bind, Cell, Exit, Limits, Sandbox
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Problem

WORKER_TARGET, LIBRARY_TARGET = "/zoo/worker", "/zoo/kernel.so"
_HELLO_SECONDS = 20.0
_DEATH_SECONDS = 5.0
_OWN_BYTES = 256 << 20
_LOAD_FAILED = 93
_SIGNALS = frozenset(signal.Signals)
_WITH_ADDRESS = (signal.SIGSEGV, signal.SIGBUS)
_SI_KERNEL = 128
_CREDENTIALS = struct.Struct("3i")


@dataclass
class Worker:
    """A running worker."""

    role: str
    cell: Cell
    pid: int

    def close(self) -> None:
        self.cell.kill()


@dataclass(frozen=True)
class WorkerTerms:
    """What a worker gets: its program, its library, the memory of its set, a core, a time limit.

    `layout` seeds where it maps what: the same for all contestants of a set.
    """

    program: Path
    library: Path
    arena: SharedArena
    core: int
    seconds: float
    layout: int


def start_worker(role: str, terms: WorkerTerms, sandbox: Sandbox) -> Worker:
    """Start a worker and learn its pid; raises RunEnded infra_error when it does not say hello."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        arena = terms.arena
        given = (
            theirs.fileno(),
            arena.door.fd,
            arena.plan.read_only_fd,
            arena.inputs.read_only_fd,
            arena.outputs.fd,
        )
        socket_fd, door, plan, inputs, outputs = map(_padded, given)
        regions = (inputs, _padded(arena.inputs.size), outputs, _padded(arena.outputs.size))
        argv = [WORKER_TARGET, socket_fd, door, plan, *regions, LIBRARY_TARGET]
        argv += [_padded(terms.core), _padded(terms.layout)]
        binds = (Bind(terms.program, WORKER_TARGET), Bind(terms.library, LIBRARY_TARGET))
        cell = sandbox.start(argv, _limits(terms), binds, given, {})
        theirs.close()
        pid = _hello(ours, cell)
    return Worker(role, cell, pid)


def _padded(number: int) -> str:
    """Return a number that moves no worker's stack: the arguments lie on it."""
    return f"{number:020}"


def _limits(terms: WorkerTerms) -> Limits:
    return Limits(
        wall_seconds=terms.seconds,
        cpu_seconds=terms.seconds,
        memory_bytes=terms.arena.inputs.size + terms.arena.outputs.size + _OWN_BYTES,
        processes=4,
        file_bytes=1 << 20,
        cpus=(terms.core,),
    )


def _hello(ours: socket.socket, cell: Cell) -> int:
    """Return the pid of the sender as our pid namespace sees it: the kernel attaches it, nobody can forge it."""
    deadline = time.monotonic() + _HELLO_SECONDS
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.5)[0]:
            data, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
            for level, kind, content in ancillary:
                if data and (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                    return int(_CREDENTIALS.unpack(content)[0])
            break
    cell.kill()
    ended = cell.wait(_DEATH_SECONDS)
    words = ended.stderr.decode("utf-8", "replace")[-300:]
    raise infra("check:worker", f"the worker did not start ({ended.status}, code {ended.code}): {words}")


def seat(timer: Timer, worker: Worker, stage: str) -> None:
    """Give the worker to the timer once it is sealed; raises RunEnded when its library did not load.

    All use one door: the next worker may be started only then.
    """
    answer = timer.ask(f"contestant {worker.pid}", 30.0)
    if answer == ["ok"]:
        return
    if answer[0] in ("died", "gone"):
        ended = _ended(worker)
        # Gone before the timer could trace it: the sandbox alone has seen its end.
        obituary = answer[1:] if answer[0] == "died" else ["exited", str(ended.code)]
        raise _for_role(worker, stage, end_by_limit(ended, stage) or end_before_seat(obituary, stage))
    if answer[0] == "untraceable":
        raise infra(
            f"{stage}:untraceable",
            f"the timer may not trace a worker ({' '.join(answer[1:])}): it needs ptrace, "
            "which kernel.yama.ptrace_scope=3 or a container without CAP_SYS_PTRACE forbids",
        )
    raise infra("time:timer", f"the timer could not seat a worker: {' '.join(answer)}")


def death_of(
    worker: Worker,
    obituary: Sequence[str],
    stage: str,
    problem: Problem | None = None,
    arena: Arena | None = None,
) -> RunEnded:
    """Return how the run ends now that this worker has died; `obituary` is the timer's, from the kernel."""
    end = end_by_limit(_ended(worker), stage) or end_by_death(obituary, stage, problem, arena)
    return _for_role(worker, stage, end)


def _ended(worker: Worker) -> Exit:
    return worker.cell.wait(_DEATH_SECONDS)


def _for_role(worker: Worker, stage: str, end: RunEnded) -> RunEnded:
    if worker.role == "candidate" or end.verdict.is_infra:
        return end
    return infra(
        f"{stage}:{worker.role}-failed", f"the {worker.role} itself ended with {end.verdict}: {end.message}"
    )


def end_by_limit(ended: Exit, stage: str) -> RunEnded | None:
    """Return the end by a limit of the sandbox, which it alone knows; None where none was reached."""
    if ended.status == "out_of_memory":
        return RunEnded(Verdict.OUT_OF_MEMORY, f"{stage}:out-of-memory", "the kernel took more memory than it may")
    if ended.status == "timed_out":
        return RunEnded(Verdict.TIMED_OUT, f"{stage}:timed-out", "the kernel did not end in time")
    return None


def end_before_seat(obituary: Sequence[str], stage: str) -> RunEnded:
    """Return the end of a worker that was still our own code: only here an exit status is believed."""
    if obituary == ["exited", str(_LOAD_FAILED)]:
        return RunEnded(Verdict.BUILD_FAILED, "build:not-loadable", "the library can't be loaded")
    return infra(f"{stage}:worker", f"the worker could not be set up ({' '.join(obituary)})")


def end_by_death(
    obituary: Sequence[str], stage: str, problem: Problem | None = None, arena: Arena | None = None
) -> RunEnded:
    """Return the end of a seated worker from the timer's words, "exited STATUS" or "killed SIGNAL CODE …"."""
    if obituary[0] == "exited":
        message = f"the kernel ended its process by itself (status {obituary[1]}) instead of returning"
        return RunEnded(Verdict.CRASHED, f"{stage}:early-exit", message)
    fault = Fault(*map(int, obituary[1:]))
    name = signal.Signals(fault.signal).name if fault.signal in _SIGNALS else f"signal {fault.signal}"
    if name == "SIGSYS":
        message = "the kernel made a system call; it was killed for it"
        return RunEnded(Verdict.CHEAT_SUSPECTED, f"{stage}:system-call", message, signal=name)
    message = f"the kernel died of {name}{_hint(fault, problem, arena)}"
    return RunEnded(Verdict.CRASHED, f"{stage}:crashed", message, signal=name)


def _hint(fault: Fault, problem: Problem | None, arena: Arena | None) -> str:
    if fault.signal not in _WITH_ADDRESS:
        return ""
    if fault.signal == signal.SIGSEGV and fault.code == _SI_KERNEL:
        return ": a forbidden instruction (the time-stamp counter is off), or an address no program can have"
    if fault.region not in (0, 1) or problem is None or arena is None:
        return f" at address {fault.address:#x}" if fault.address else ": a null pointer"
    found = place_at(arena, fault)
    if found is None:
        return f" near the {'inputs' if fault.region == 0 else 'outputs'}: an index out of range?"
    tensor = problem.tensors[found[1]]
    return f" at {tensor.name}" + (": inputs are read-only" if tensor.role == "in" else "")
