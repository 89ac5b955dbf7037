"""A CUDA kernel's dry run: compiled, inspected, reported on, and run on an emulated device. It has no time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_bench.bench import Deadline, seed_of
from native_bench.cache import ContentCache
from native_bench.cpu.check import Item, judge_outputs
from native_bench.cpu.compile_log import SOURCE_ROOT
from native_bench.cpu.draws import Draw, DrawnSet, Draws, distributions_of
from native_bench.gpu.compiler import FLAGS, CudaBuild, compile_cuda
from native_bench.gpu.cubin_rules import require_allowed
from native_bench.gpu.device import DeviceArgument, DeviceBuffer, DeviceLaunch
from native_bench.gpu.emulated_device import EmulatedDevice
from native_bench.gpu.emulator import Fault, FaultKind, LaunchFault, Module, Unsupported
from native_bench.gpu.launch_plan import Argument, LaunchPlan, ScalarArgument, check_signature, plan_launches
from native_bench.gpu.static_report import REPORT_ARCHS, block_shapes, static_report
from native_bench.job import Job
from native_bench.outcome import RunEnded
from native_bench.run_progress import CACHE_BYTES, CHECK_SECONDS, Progress, sandbox_for
from native_bench.sandbox.interface import Sandbox
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.errors import Rejected

DRY_RUN = "dry_run"
# Two runs of a call differ in what they find in memory that nobody has written: 0xff is a NaN, 0x5a is none.
_POISONS = (0xFF, 0x5A)

_VERDICTS = {
    FaultKind.SHARED_RACE: Verdict.NONDETERMINISTIC,
    FaultKind.GLOBAL_RACE: Verdict.NONDETERMINISTIC,
    FaultKind.UNINITIALISED_SHARED: Verdict.WRONG_RESULT,
    FaultKind.ASYNC_COPY: Verdict.WRONG_RESULT,
    FaultKind.DEADLOCK: Verdict.TIMED_OUT,
    FaultKind.ENDLESS_LOOP: Verdict.TIMED_OUT,
    FaultKind.BAD_ARGUMENT: Verdict.BUILD_FAILED,
}


def dry_run(job: Job, progress: Progress) -> None:
    """Take a job whose candidate is a CUDA kernel as far as that goes without a GPU; raises RunEnded.

    What the emulator does not know, or has no time for, is told in the details and counts against nobody.
    """
    progress.flags = FLAGS
    with progress.stage("prepare"):
        _refuse_timing(job)
        cache = ContentCache(job.cache_dir)
        sandbox = sandbox_for(job, progress)
        items, draws = _draws(job)
    try:
        draws.start(sandbox)
        build = _build(job, progress, sandbox, cache)
        with progress.stage("inspect"):
            require_allowed(build)
            progress.details["static"] = _report(job, build, sandbox, cache)
        with progress.stage("check"):
            draws.ready()
            progress.details[DRY_RUN] = _check(job, build, items, draws, progress)
    finally:
        draws.close()
    with progress.stage("report"):
        cache.trim(CACHE_BYTES)


def _refuse_timing(job: Job) -> None:
    if job.is_timed:
        message = "a CUDA kernel is timed on a GPU, and this engine has none: `check` compiles and dry-runs it"
        raise RunEnded(Verdict.INFRA_ERROR, "prepare:no-gpu", message)


def _draws(job: Job) -> tuple[list[Item], Draws]:
    """Plan the inputs: the problem's dry-run size with every distribution of its reference."""
    distributions, exact = distributions_of(job.reference_py)
    items = [
        Item(DRY_RUN, Draw(job.problem.dry_run, name, seed_of(job.secret, f"dry run {name}"), name in exact))
        for name in distributions
    ]
    return items, Draws(job.problem, job.reference_py, [item.draw for item in items])


def _build(job: Job, progress: Progress, sandbox: Sandbox, cache: ContentCache) -> CudaBuild:
    candidate = job.candidate
    with progress.stage("build"):
        build = compile_cuda(candidate.description, candidate.files, _arch(job), sandbox, cache)
    progress.log = build.log
    progress.details["build_cached"] = build.was_cached
    return build


def _arch(job: Job) -> str:
    return job.candidate.description.kernel_id.board.arch


def _report(job: Job, build: CudaBuild, sandbox: Sandbox, cache: ContentCache) -> dict[str, Any]:
    """Return the static report for the kernel's own arch and for the usual ones that it compiles for."""
    description = job.candidate.description
    builds = [build]
    failures: dict[str, str] = {}
    for arch in REPORT_ARCHS:
        if arch == build.arch:
            continue
        try:
            builds.append(compile_cuda(description, job.candidate.files, arch, sandbox, cache))
        except RunEnded as end:
            failures[arch] = end.message
    shapes = block_shapes(description, job.problem.cases[0].dims)
    return {**static_report(builds, shapes, sandbox).as_json(), "not_built": failures}


def _check(job: Job, build: CudaBuild, items: list[Item], draws: Draws, progress: Progress) -> dict[str, Any]:
    """Run every item twice and judge it; return what is told of the dry run."""
    told: dict[str, Any] = {"dims": dict(job.problem.dry_run)}
    deadline = Deadline(CHECK_SECONDS)
    worst = 0.0
    try:
        plan = _plan(job)
        module = EmulatedDevice().load(build)
        check_signature(plan, {name: module.parameter_sizes(symbol) for name, symbol in build.lowered.items()})
        call = _Call(plan, module, build.lowered, draws)
        for at, item in enumerate(items):
            if deadline.is_over:
                return told | _undecided(f"more than {CHECK_SECONDS} s on the emulator")
            runs = [call.outputs(draws.sets[at], poison) for poison in _POISONS]
            worst = max(worst, judge_outputs(job.problem, item, draws.sets[at], draws, runs))
            progress.reporter.progress((at + 1) / len(items))
    except Unsupported as why:
        return told | _undecided(str(why).replace(SOURCE_ROOT, ""))
    except LaunchFault as found:
        if not found.fault.kind.is_conclusive:
            return told | _undecided(found.fault.message)
        raise _end_of(found.fault) from None
    return told | {"is_decided": True, "max_scaled_error": worst}


def _undecided(why: str) -> dict[str, Any]:
    return {"is_decided": False, "undecided": why}


def _plan(job: Job) -> LaunchPlan:
    try:
        return plan_launches(job.candidate.description, job.problem, job.problem.dry_run)
    except Rejected as refused:
        raise RunEnded(Verdict.BUILD_FAILED, "check:launch", refused.message) from None


def _end_of(fault: Fault) -> RunEnded:
    file = fault.file.removeprefix(SOURCE_ROOT)
    place = f", {file}:{fault.line}" if fault.line else ""
    thread = f", block {list(fault.block)} thread {list(fault.thread)}" if fault.block and fault.thread else ""
    verdict = _VERDICTS.get(fault.kind, Verdict.CRASHED)
    message = f"dry run: {fault.message}{place}{thread}"
    told = {
        "kind": str(fault.kind),
        "message": fault.message,
        "file": file,
        "line": fault.line,
        "block": fault.block,
        "thread": fault.thread,
    }
    return RunEnded(verdict, f"check:{fault.kind.replace('_', '-')}", message, fault=told)


@dataclass(frozen=True)
class _Call:
    """One call of the kernel: all its launches, on memory of its own."""

    plan: LaunchPlan
    module: Module
    lowered: Mapping[str, str]
    draws: Draws

    def outputs(self, drawn: DrawnSet, poison: int) -> dict[int, NDArray[np.uint8]]:
        """Run the launches in order and return each output's bytes, by the index of its tensor."""
        device = EmulatedDevice()
        buffers = self._allocate(device, drawn, poison)
        for launch in self.plan.launches:
            arguments = [_argument(argument, buffers) for argument in launch.arguments]
            symbol = self.lowered[launch.kernel]
            device.launch(
                self.module, DeviceLaunch(symbol, launch.grid, launch.block, launch.shared_bytes, arguments)
            )
        return {
            span.index: device.fetch(buffers[span.tensor.name], np.uint8, (buffers[span.tensor.name].nbytes,))
            for span in drawn.outputs
        }

    def _allocate(self, device: EmulatedDevice, drawn: DrawnSet, poison: int) -> dict[str, DeviceBuffer]:
        buffers: dict[str, DeviceBuffer] = {}
        for span in drawn.inputs:
            content = self.draws.input_bytes(span)
            name = span.tensor.name
            buffers[name] = device.allocate(content.size, name, is_read_only=True, content=content)
        sizes = {span.tensor.name: span.nbytes for span in drawn.outputs}
        sizes |= {buffer.name: buffer.nbytes for buffer in self.plan.scratch}
        for name, nbytes in sizes.items():
            buffers[name] = device.allocate(nbytes, name, content=np.full(nbytes, poison, np.uint8))
        return buffers


def _argument(argument: Argument, buffers: Mapping[str, DeviceBuffer]) -> DeviceArgument:
    return argument.as_numpy if isinstance(argument, ScalarArgument) else buffers[argument.name]
