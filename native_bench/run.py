"""One run from job to result: prepare, build, inspect, check, time, report."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from native_bench.bench import Bench, Deadline, Reporter, seed_of
from native_bench.cache import ContentCache
from native_bench.cpu.build import Kernel, Library, build
from native_bench.cpu.check import HIDDEN_CASE, Item, check, check_items
from native_bench.cpu.draws import Draw, Draws, distributions_of
from native_bench.cpu.flags import COMPILE_FLAGS, LINK_FLAGS
from native_bench.cpu.inspect import require_clean
from native_bench.cpu.process_set import CaseTimes, Contest
from native_bench.cpu.sitting import pool_sets, sit
from native_bench.cpu.trusted import trusted_programs
from native_bench.harness import harness_version
from native_bench.host import core_pair, host_record, usable_cores
from native_bench.job import Contestant, Job
from native_bench.outcome import RunEnded, infra
from native_bench.roofline import Roofline, measure, measure_again, nearness
from native_bench.sandbox.interface import Sandbox, SandboxMissing
from native_bench.sandbox.opening import open_sandbox
from native_bench.surroundings import Surroundings
from submissions.evaluation.statistics import time_interval
from submissions.evaluation.verdicts import Evidence, Verdict
from submissions.kernel_package.problem import Problem

CACHE_BYTES = 2 << 30
# A daemon gives a run ten minutes; the stages end before it does, and say who was slow.
TIME_SECONDS = 240
CHECK_SECONDS = 120


@dataclass
class _Progress:
    """What is known so far; the result is made of it however the run ends."""

    stage: str = "prepare"
    stages_ms: dict[str, float] = field(default_factory=dict)
    isolation: str = ""
    log: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    times: list[CaseTimes] = field(default_factory=list)
    surroundings: Surroundings | None = None
    roofline: Roofline | None = None
    nearness: dict[str, dict[str, Any]] = field(default_factory=dict)

    def set_against(self, problem: Problem, roofline: Roofline) -> None:
        """Say of each timed case how near the limit it comes."""
        self.roofline = roofline
        for times in self.times:
            time_ns = time_interval(times.least_ns["candidate"]).value
            self.nearness[times.case.id] = nearness(problem, times.case, times.batch, time_ns, roofline.limits)

    @property
    def is_below_floor(self) -> bool:
        return any(near["sol_floor"] == "violated" for near in self.nearness.values())


def run_job(job: Job, reporter: Reporter) -> dict[str, Any]:
    """Execute a job and return its result (the members of a runner protocol's Result); never raises RunEnded."""
    progress = _Progress()
    try:
        _run(job, progress, reporter)
        ended = RunEnded(Verdict.OK, "run:ok", "")
        progress.stage = "report"
    except RunEnded as end:
        ended = end
    return _result(job, progress, ended)


def _run(job: Job, progress: _Progress, reporter: Reporter) -> None:
    with _stage("prepare", progress, reporter):
        cache = ContentCache(job.cache_dir)
        bench = _bench(job, cache, progress, reporter)
        items, cases, draws = _draws(job)
    try:
        draws.start(bench.sandbox)
        libraries = _build(job, bench, cache, progress)
        with _stage("check", progress, reporter):
            draws.ready()
            progress.errors = check(bench, libraries["candidate"].path, items, draws, Deadline(CHECK_SECONDS))
        if job.is_timed:
            with _stage("time", progress, reporter):
                progress.surroundings = Surroundings((bench.timer_core, bench.worker_core))
                paths = {role: library.path for role, library in libraries.items()}
                _time(job, Contest(bench, paths, draws, progress.surroundings, Deadline(TIME_SECONDS)), cases)
            progress.times = cases
            _look_at_limits(bench, cache, progress)
    finally:
        draws.close()
    with _stage("report", progress, reporter):
        cache.trim(CACHE_BYTES)


@contextmanager
def _stage(name: str, progress: _Progress, reporter: Reporter) -> Iterator[None]:
    progress.stage = name
    reporter.stage(name)
    begin = time.monotonic()
    try:
        yield
    finally:
        progress.stages_ms[name] = round(1000 * (time.monotonic() - begin), 1)


def _bench(job: Job, cache: ContentCache, progress: _Progress, reporter: Reporter) -> Bench:
    if job.candidate.description.harness != "native":
        message = f"this engine runs native kernels, not {job.candidate.description.harness}"
        raise RunEnded(Verdict.BUILD_FAILED, "prepare:harness", message)
    sandbox = _sandbox(job)
    progress.isolation = sandbox.isolation
    timer_core, worker_core = core_pair() or (usable_cores()[0], usable_cores()[0])
    return Bench(sandbox, trusted_programs(cache), job.problem, timer_core, worker_core, job.secret, reporter)


def _sandbox(job: Job) -> Sandbox:
    try:
        return open_sandbox(job.backend, job.slot)
    except SandboxMissing as missing:
        raise infra("prepare:no-sandbox", str(missing)) from None


def _draws(job: Job) -> tuple[list[Item], list[CaseTimes], Draws]:
    """Plan all inputs of the run: the check's, then every timed case's pool."""
    known = distributions_of(job.reference_py)
    items = check_items(job.problem, job.hidden_dims, known, job.secret)
    planned = [item.draw for item in items]
    counts = [pool_sets(job.problem, case) if job.is_timed else 0 for case in job.problem.cases]
    for case, count in zip(job.problem.cases, counts, strict=True):
        exact = case.distribution in known[1]
        planned += [
            Draw(case.dims, case.distribution, seed_of(job.secret, f"time {case.id} {number}"), exact)
            for number in range(count)
        ]
    draws = Draws(job.problem, job.reference_py, planned)
    cases: list[CaseTimes] = []
    begin = len(items)
    for case, count in zip(job.problem.cases, counts, strict=True):
        cases.append(CaseTimes(case, draws.sets[begin : begin + count]))
        begin += count
    return items, cases, draws


def _build(job: Job, bench: Bench, cache: ContentCache, progress: _Progress) -> dict[str, Library]:
    contestants: dict[str, Contestant] = {"candidate": job.candidate}
    if job.is_timed:
        contestants["baseline"] = job.baseline or job.candidate
        if job.incumbent is not None:
            contestants["incumbent"] = job.incumbent
    libraries: dict[str, Library] = {}
    with _stage("build", progress, bench.reporter):
        for role, contestant in contestants.items():
            libraries[role] = _build_one(role, contestant, bench, cache)
            if role == "candidate":
                progress.log = libraries[role].log
                progress.details["build_cached"] = libraries[role].was_cached
    with _stage("inspect", progress, bench.reporter):
        require_clean(libraries["candidate"].report)
    return libraries


def _build_one(role: str, contestant: Contestant, bench: Bench, cache: ContentCache) -> Library:
    try:
        return build(Kernel(contestant.description, contestant.files, bench.problem), bench.sandbox, cache)
    except RunEnded as end:
        if role == "candidate" or end.verdict.is_infra:
            raise
        raise infra(f"build:{role}-failed", f"the {role} does not build: {end.message}") from None


def _time(job: Job, contest: Contest, cases: Sequence[CaseTimes]) -> None:
    if core_pair() is None:
        message = "timing needs two usable cores, one for the clock and one for the kernels; this runner has one"
        raise RunEnded(Verdict.UNSTABLE, "time:needs-two-cores", message)
    for times in cases:
        contest.draws.write_bounds(times.sets)
    sit(contest, cases, job.processes, job.best_speedup)


def _look_at_limits(bench: Bench, cache: ContentCache, progress: _Progress) -> None:
    """Set the times against this core's measured roofline; who is faster than it allows is held for a person."""
    try:
        roofline = measure(bench.programs, bench.worker_core, cache)
        progress.set_against(bench.problem, roofline)
        if progress.is_below_floor:
            progress.set_against(bench.problem, measure_again(bench.programs, bench.worker_core, cache))
    except RunEnded as end:
        # A figure stands without its limit.
        bench.reporter.log(end.message)
        return
    if progress.is_below_floor:
        cases = [case for case, near in progress.nearness.items() if near["sol_floor"] == "violated"]
        message = "faster than this machine's measured limits allow"
        progress.details["integrity"] = [{"code": "time:below-limit", "message": message, "cases": cases}]


def _result(job: Job, progress: _Progress, ended: RunEnded) -> dict[str, Any]:
    # A compile log stands in the details of a failed build already.
    details = {**progress.details, "compile_log": progress.log, **ended.details}
    return {
        "verdict": str(ended.verdict),
        "code": ended.code,
        "message": ended.message,
        "stage": progress.stage,
        "stages_ms": _told_stages_ms(progress, ended),
        "evidence": str(Evidence.MEASURED),
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
            "flags": [*COMPILE_FLAGS, *LINK_FLAGS],
        },
        "log": details["compile_log"],
        "samples": _samples(progress.times),
    }


def _told_stages_ms(progress: _Progress, ended: RunEnded) -> dict[str, float]:
    # How long the check went on until a hidden case failed says something about that case.
    untold = {progress.stage} if ended.code == HIDDEN_CASE else set()
    return {stage: ms for stage, ms in progress.stages_ms.items() if stage not in untold}


def _cases(job: Job, progress: _Progress) -> list[dict[str, Any]]:
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
