"""Time the contestants together: a self-test, then sets of fresh processes until the figures are sure enough."""

import math
from collections.abc import Sequence
from dataclasses import replace

from native_bench.cpu.case_times import COLD, HOT, SELF_TEST, CaseTimes, most_sets
from native_bench.cpu.process_set import Contest, ProcessSet
from native_bench.cpu.stopping import (
    COLD_SELF_TEST_LIMIT,
    MOST_PROCESSES,
    SELF_TEST_LIMIT,
    SELF_TESTS,
    is_enough,
    why_useless,
)
from native_bench.outcome import RunEnded, infra
from native_bench.surroundings import CLOCK_DRIFT
from submissions.evaluation.statistics import combine_cases
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Case, Problem

_POOL_BYTES = 16 << 20
_USELESS = {
    "contended": "other work took the machine",
    "clock": "the machine's clock did not run evenly",
    "ambiguous": "the baseline's own times disagree, though the machine was quiet",
}


def pool_sets(problem: Problem, case: Case) -> int:
    """Return how many sets of inputs a case's batches draw from: one more than a batch has, never under 3."""
    shapes = problem.shapes(case.dims)
    set_bytes = problem.tensor_bytes_of(case.dims)
    truth_bytes = sum(16 * math.prod(shapes[tensor.name]) for tensor in problem.outputs)
    return max(3, min(most_sets(set_bytes) + 1, _POOL_BYTES // max(1, set_bytes + truth_bytes)))


def sit(contest: Contest, cases: Sequence[CaseTimes], processes: int, best_speedup: float | None = None) -> None:
    """Measure all cases in `processes` sets of processes or, where it matters, up to nine, filling `cases`.

    `best_speedup` is the board's best over the baseline: who seems to beat it is measured more.
    Raises RunEnded, also when the figures say nothing.
    """
    bench, surroundings = contest.bench, contest.surroundings
    _test_yourself(contest, cases)
    rounds = COLD if _is_cold(contest) else HOT
    log_best = None if best_speedup is None else math.log(best_speedup)
    for number in range(max(processes, MOST_PROCESSES)):
        ProcessSet(contest, f"process {number}").measure(cases, rounds)
        values = _combined(bench.problem, cases)
        bench.reporter.progress(min(1.0, len(values) / processes))
        if is_enough(values, processes, log_best):
            break
    reason = why_useless(
        _baseline_logs(bench.problem, cases), surroundings.is_contended, surroundings.clock_drift > CLOCK_DRIFT
    )
    if reason is not None:
        message = f"no figure can be made of this sitting: {_USELESS[reason]}"
        raise RunEnded(Verdict.UNSTABLE, f"time:{reason}", message)


def _is_cold(contest: Contest) -> bool:
    return contest.bench.problem.mode == "cold"


def _combined(problem: Problem, cases: Sequence[CaseTimes]) -> list[float]:
    """Return ln(baseline / candidate) over all cases, one value per process so far."""
    return combine_cases([(problem.weights[times.case.id], times.log_ratios["baseline"]) for times in cases])


def _baseline_logs(problem: Problem, cases: Sequence[CaseTimes]) -> list[float]:
    """Return the log of the baseline's time over all cases, one value per process: no candidate can spread it."""
    return combine_cases(
        [
            (problem.weights[times.case.id], [math.log(value) for value in times.least_ns["baseline"]])
            for times in cases
        ]
    )


def _test_yourself(contest: Contest, cases: Sequence[CaseTimes]) -> None:
    """Time the baseline against itself: a machine that can't tell equal from equal gets to time nothing else."""
    measured = contest.surroundings.self_test
    rounds, limit = (COLD, COLD_SELF_TEST_LIMIT) if _is_cold(contest) else (SELF_TEST, SELF_TEST_LIMIT)
    baseline = contest.libraries["baseline"]
    twins = replace(contest, libraries={"candidate": baseline, "baseline": baseline})
    problem = contest.bench.problem
    smallest = min(cases, key=lambda times: problem.tensor_bytes_of(times.case.dims))
    for number in range(SELF_TESTS):
        times = CaseTimes(smallest.case, smallest.sets)
        try:
            ProcessSet(twins, f"self-test {number}").measure([times], rounds)
        except RunEnded as end:
            raise _of_baseline(end) from None
        measured.append(times.log_ratios["baseline"][0])
        if abs(measured[-1]) <= limit:
            return
    shown = ", ".join(f"{100 * value:+.1f} %" for value in measured)
    message = f"the baseline differs from itself ({shown}): this machine can't be trusted with figures now"
    raise RunEnded(Verdict.UNSTABLE, "time:self-test", message)


def _of_baseline(end: RunEnded) -> RunEnded:
    """Return an end of the self-test as ours: both contestants are the baseline."""
    if end.verdict.is_infra:
        return end
    area, _, what = end.code.partition(":")
    return infra(f"{area}:baseline-{what}", f"the baseline itself failed: {end.message}")
