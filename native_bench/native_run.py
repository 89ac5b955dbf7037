"""A native kernel's run: prepare, build, inspect, check, time, report."""

import random
from collections.abc import Sequence
from itertools import islice

from native_bench.bench import Bench, Deadline, seed_of
from native_bench.cache import ContentCache
from native_bench.cpu.build import Kernel, Library, build
from native_bench.cpu.case_times import CaseTimes
from native_bench.cpu.check import Item, check, check_items
from native_bench.cpu.draws import Draw, Draws, distributions_of
from native_bench.cpu.flags import COMPILE_FLAGS, LINK_FLAGS
from native_bench.cpu.inspect import require_clean
from native_bench.cpu.process_set import Contest
from native_bench.cpu.sitting import pool_sets, sit
from native_bench.cpu.trusted import trusted_programs
from native_bench.host import core_pair, usable_cores
from native_bench.job import Contestant, Job
from native_bench.outcome import RunEnded, infra
from native_bench.roofline import measure, measure_again
from native_bench.run_progress import CACHE_BYTES, CHECK_SECONDS, Progress, sandbox_for
from native_bench.surroundings import Surroundings
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Case

_TIME_SECONDS = 240
_LARGE_BYTES = 4 << 20


def run_native(job: Job, progress: Progress) -> None:
    """Run a job whose candidate is a native kernel, filling `progress`; raises RunEnded."""
    progress.flags = (*COMPILE_FLAGS, *LINK_FLAGS)
    with progress.stage("prepare"):
        cache = ContentCache(job.cache_dir)
        bench = _bench(job, cache, progress)
        items, cases, draws = _draws(job)
    try:
        draws.start(bench.sandbox)
        libraries = _build(job, bench, cache, progress)
        with progress.stage("check"):
            draws.ready()
            progress.errors = check(bench, libraries["candidate"].path, items, draws, Deadline(CHECK_SECONDS))
        if job.is_timed:
            with progress.stage("time"):
                progress.surroundings = Surroundings((bench.timer_core, bench.worker_core))
                paths = {role: library.path for role, library in libraries.items()}
                _time(job, Contest(bench, paths, draws, progress.surroundings, Deadline(_TIME_SECONDS)), cases)
            progress.times = cases
            _look_at_limits(bench, cache, progress)
    finally:
        draws.close()
    with progress.stage("report"):
        cache.trim(CACHE_BYTES)


def _bench(job: Job, cache: ContentCache, progress: Progress) -> Bench:
    sandbox = sandbox_for(job, progress)
    timer_core, worker_core = core_pair() or (usable_cores()[0], usable_cores()[0])
    programs = trusted_programs(cache)
    return Bench(sandbox, programs, job.problem, timer_core, worker_core, job.secret, progress.reporter)


def _draws(job: Job) -> tuple[list[Item], list[CaseTimes], Draws]:
    """Plan all inputs of the run: the check's, then every timed case's pool and audits."""
    known = distributions_of(job.reference_py)
    items = check_items(job.problem, job.hidden_dims, known, job.secret)
    timed = job.problem.cases if job.is_timed else ()
    pools = [_pool(job, case, case.distribution in known[1]) for case in timed]
    audits = [_audits(job, case, known) for case in timed]
    planned = [item.draw for item in items]
    for pool, audited in zip(pools, audits, strict=True):
        planned += [*pool, *audited]
    draws = Draws(job.problem, job.reference_py, planned)
    sets = iter(draws.sets[len(items) :])
    cases = [
        CaseTimes(case, tuple(islice(sets, len(pool))), audits=tuple(islice(sets, len(audited))))
        for case, pool, audited in zip(timed, pools, audits, strict=True)
    ]
    return items, cases, draws


def _pool(job: Job, case: Case, is_exact: bool) -> list[Draw]:
    seeds = [seed_of(job.secret, f"time {case.id} {number}") for number in range(pool_sets(job.problem, case))]
    return [Draw(case.dims, case.distribution, seed, is_exact) for seed in seeds]


def _audits(job: Job, case: Case, known: tuple[tuple[str, ...], frozenset[str]]) -> list[Draw]:
    """Plan inputs of every kind on which a timed case is judged besides its own; of a large case, of one kind."""
    names, exact = known
    if job.problem.tensor_bytes_of(case.dims) > _LARGE_BYTES:
        names = (random.Random(seed_of(job.secret, f"audited of {case.id}")).choice(names),)
    seeds = {name: seed_of(job.secret, f"audit {case.id} {name}") for name in names}
    return [Draw(case.dims, name, seed, name in exact) for name, seed in seeds.items()]


def _build(job: Job, bench: Bench, cache: ContentCache, progress: Progress) -> dict[str, Library]:
    contestants: dict[str, Contestant] = {"candidate": job.candidate}
    if job.is_timed:
        contestants["baseline"] = job.baseline or job.candidate
        if job.incumbent is not None:
            contestants["incumbent"] = job.incumbent
    libraries: dict[str, Library] = {}
    with progress.stage("build"):
        for role, contestant in contestants.items():
            libraries[role] = _build_one(role, contestant, bench, cache)
            if role == "candidate":
                progress.log = libraries[role].log
                progress.details["build_cached"] = libraries[role].was_cached
    with progress.stage("inspect"):
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


def _look_at_limits(bench: Bench, cache: ContentCache, progress: Progress) -> None:
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
