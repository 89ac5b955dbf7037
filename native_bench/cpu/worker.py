"""A contestant's worker: a fresh sandboxed process that loads one library and seals itself."""

import select
import signal
import socket
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

from native_bench.cpu.arena import DOOR_BYTES, PLAN_BYTES, Arena, Fault, place_at, read_fault
from native_bench.cpu.timer import Timer
from native_bench.memory import SharedMemory
from native_bench.outcome import RunEnded, infra
from native_bench.sandbox.interface import Bind, Cell, Exit, Limits, Sandbox
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Problem

WORKER_TARGET, LIBRARY_TARGET = "/zoo/worker", "/zoo/kernel.so"
_HELLO_SECONDS = 20.0
_DEATH_SECONDS = 5.0
_OWN_BYTES = 256 << 20
_LOAD_FAILED, _SEAL_FAILED, _OWN_FAILURES = 93, 94, (90, 91, 92, 94)
_SI_KERNEL = 128
_CREDENTIALS = struct.Struct("3i")


@dataclass
class Worker:
    """A running worker and what it shares with the timer."""

    role: str
    cell: Cell
    pid: int
    door: SharedMemory = field(repr=False)
    plan: SharedMemory = field(repr=False)
    outputs: SharedMemory = field(repr=False)

    @property
    def memories(self) -> tuple[SharedMemory, ...]:
        return self.door, self.plan, self.outputs

    def seat_command(self) -> str:
        return f"contestant {self.pid} {self.door.fd} {self.plan.fd} {self.outputs.fd} {self.outputs.size}"

    def close(self) -> None:
        self.cell.kill()
        for memory in self.memories:
            memory.close()


@dataclass(frozen=True)
class WorkerTerms:
    """What a worker gets: its program, its library, the shared inputs, room for outputs, a core, a time limit."""

    program: Path
    library: Path
    inputs: SharedMemory
    output_bytes: int
    core: int
    seconds: float


def start_worker(role: str, terms: WorkerTerms, sandbox: Sandbox) -> Worker:
    """Start a worker and learn its pid; raises RunEnded infra_error when it does not say hello."""
    door, plan = SharedMemory("door", DOOR_BYTES), SharedMemory("plan", PLAN_BYTES)
    outputs = SharedMemory("outputs", terms.output_bytes)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        argv = [
            WORKER_TARGET, str(theirs.fileno()), str(door.fd), str(plan.read_only_fd),
            str(terms.inputs.read_only_fd), str(terms.inputs.size),
            str(outputs.fd), str(outputs.size), LIBRARY_TARGET, str(terms.core),
        ]  # fmt: skip
        passed = (theirs.fileno(), door.fd, plan.read_only_fd, terms.inputs.read_only_fd, outputs.fd)
        binds = (Bind(terms.program, WORKER_TARGET), Bind(terms.library, LIBRARY_TARGET))
        cell = sandbox.start(argv, _limits(terms, outputs.size), binds, passed, {})
        theirs.close()
        pid = _hello(ours, cell)
    return Worker(role, cell, pid, door, plan, outputs)


def _limits(terms: WorkerTerms, output_bytes: int) -> Limits:
    return Limits(
        wall_seconds=terms.seconds,
        cpu_seconds=terms.seconds,
        memory_bytes=terms.inputs.size + output_bytes + _OWN_BYTES,
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
    """Give the worker to the timer once it is sealed; raises RunEnded when its library did not load."""
    answer = timer.ask(worker.seat_command(), 30.0)
    if answer == ["died"]:
        raise death_of(worker, stage)
    if answer != ["ok"]:
        raise infra("time:timer", "the timer could not seat a worker")


def death_of(worker: Worker, stage: str, problem: Problem | None = None, arena: Arena | None = None) -> RunEnded:
    """Return how the run ends now that this worker has died by itself."""
    ended = worker.cell.wait(_DEATH_SECONDS)
    end = _end_of(ended, read_fault(worker.door), stage, problem, arena)
    if worker.role == "candidate" or end.verdict.is_infra:
        return end
    return infra(
        f"{stage}:{worker.role}-failed", f"the {worker.role} itself ended with {end.verdict}: {end.message}"
    )


def _end_of(
    ended: Exit, fault: Fault | None, stage: str, problem: Problem | None, arena: Arena | None
) -> RunEnded:
    name = _signal_name(ended, fault)
    if ended.status == "out_of_memory":
        return RunEnded(Verdict.OUT_OF_MEMORY, f"{stage}:out-of-memory", "the kernel took more memory than it may")
    if ended.status == "timed_out":
        return RunEnded(Verdict.TIMED_OUT, f"{stage}:timed-out", "the kernel did not end in time")
    if ended.status == "setup_failed" or ended.code in _OWN_FAILURES:
        return infra(f"{stage}:worker", f"the worker could not be set up ({ended.status}, code {ended.code})")
    if name == "SIGSYS":
        message = "the kernel made a system call; it was killed for it"
        return RunEnded(Verdict.CHEAT_SUSPECTED, f"{stage}:system-call", message, signal=name)
    if ended.code == _LOAD_FAILED:
        return RunEnded(Verdict.BUILD_FAILED, "build:not-loadable", "the library can't be loaded")
    if name is None:
        message = f"the kernel ended its process by itself (status {ended.code}) instead of returning"
        return RunEnded(Verdict.CRASHED, f"{stage}:early-exit", message)
    hint = _hint(fault, problem, arena)
    return RunEnded(Verdict.CRASHED, f"{stage}:crashed", f"the kernel died of {name}{hint}", signal=name)


def _signal_name(ended: Exit, fault: Fault | None) -> str | None:
    if fault is not None and fault.signal < 65:
        return signal.Signals(fault.signal).name
    if ended.signal:
        return ended.signal
    number = (ended.code or 0) - 128
    return signal.Signals(number).name if number in {s.value for s in signal.Signals} else None


def _hint(fault: Fault | None, problem: Problem | None, arena: Arena | None) -> str:
    if fault is None:
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
