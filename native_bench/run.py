"""One run from job to result: who runs it, and what is told of it."""

import json
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from native_bench.bench import Reporter
from native_bench.cpu.case_times import CaseTimes
from native_bench.cpu.check import HIDDEN_CASE
from native_bench.gpu.dry_run import dry_run
from native_bench.harness import harness_version
from native_bench.host import host_record
from native_bench.job import Job
from native_bench.native_run import run_native
from native_bench.outcome import RunEnded
from native_bench.run_progress import Progress
from submissions.evaluation.verdicts import Evidence, Verdict

_RUNS: dict[str, tuple[Evidence, Callable[[Job, Progress], None]]] = {
    "native": (Evidence.MEASURED, run_native),
    "rawkernel": (Evidence.EMULATED, dry_run),
}


def run_job(job: Job, reporter: Reporter) -> dict[str, Any]:
    """Execute a job and return its result (the members of a runner protocol's Result); never raises RunEnded."""
    evidence, execute = _RUNS.get(job.candidate.description.harness, (Evidence.MEASURED, _refuse))
    progress = Progress(reporter, evidence)
    try:
        execute(job, progress)
        ended = RunEnded(Verdict.OK, "run:ok", "")
        progress.stage_name = "report"
    except RunEnded as end:
        ended = end
    return _result(job, progress, ended)


def _refuse(job: Job, progress: Progress) -> None:
    harness = job.candidate.description.harness
    message = f"this engine runs {' and '.join(_RUNS)} kernels, not {harness}"
    with progress.stage("prepare"):
        raise RunEnded(Verdict.BUILD_FAILED, "prepare:harness", message)


def _result(job: Job, progress: Progress, ended: RunEnded) -> dict[str, Any]:
    # A compile log stands in the details of a failed build already.
    details = {**progress.details, "compile_log": progress.log, **ended.details}
    return {
        "verdict": str(ended.verdict),
        "code": ended.code,
        "message": ended.message,
        "stage": progress.stage_name,
        "stages_ms": _told_stages_ms(progress, ended),
        "evidence": str(progress.evidence),
        "details": details,
        "cases": _cases(job, progress),
        "contestants": job.digests,
        "secret_sha256": job.secret_sha256,
        "harness_version": harness_version(),
        "processes": len(progress.times[0].rounds) if progress.times else 0,
        "environment": {
            **host_record(),
            **(progress.surroundings.as_json() if progress.surroundings else {}),
            "roofline": progress.roofline.as_json() if progress.roofline else None,
            "isolation": progress.isolation,
            "flags": list(progress.flags),
        },
        "log": details["compile_log"],
        "samples": _samples(progress.times),
    }


def _told_stages_ms(progress: Progress, ended: RunEnded) -> dict[str, float]:
    # How long the check went on until a hidden case failed says something about that case.
    untold = {progress.stage_name} if ended.code == HIDDEN_CASE else set()
    return {stage: ms for stage, ms in progress.stages_ms.items() if stage not in untold}


def _cases(job: Job, progress: Progress) -> list[dict[str, Any]]:
    """Return the public cases as a run record has them; without times where the run was not timed to its end."""
    timed = {
        times.case.id: {**_timed_case(times), **progress.nearness.get(times.case.id, {})}
        for times in progress.times
    }
    return [
        {"id": case.id, "max_scaled_error": progress.errors[case.id], **timed.get(case.id, {})}
        for case in job.problem.cases
        if case.id in progress.errors
    ]


def _samples(timed: Sequence[CaseTimes]) -> str:
    """Return the time of every batch as compact JSON, "" where nothing was timed."""
    cases = [
        {
            "id": times.case.id,
            "batch_n": times.batch,
            "handshake_ns": times.handshake_ns,
            "sets": times.batches_ns,
        }
        for times in timed
    ]
    return json.dumps({"unit": "ns", "cases": cases}, separators=(",", ":")) if cases else ""


def _timed_case(times: CaseTimes) -> dict[str, Any]:
    return {
        "batch_n": times.batch,
        "rounds": min(times.rounds),
        "log_ratio": {role: times.log_ratios.get(role, []) for role in ("baseline", "incumbent")},
        "t_min_ns": times.least_ns["candidate"],
        "base_t_min_ns": times.least_ns["baseline"],
        "handshake_ns": median(times.handshake_ns),
    }
