"""Which figures have a goal, and whether they hold. Pure; nothing here fails a bench."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from native_bench.bench_cpu.analysis import REGROUPINGS
from native_bench.bench_cpu.figures import Row
from native_bench.bench_cpu.peers import CPU_TIME, MEDIAN, REAL_TIME
from native_bench.bench_cpu.plan import AS_FOUND, IDLE, Condition

_JUDGED_PROCESSES = 5
_POWER_NS = 30_000.0
_LEAST_SPREAD = 1e-9


@dataclass(frozen=True)
class Goals:
    """The bounds; shares are fractions. The quick form has so few sittings that it counts them one by one."""

    error_p99_idle: float
    error_p99_stressed: float
    coverage: tuple[float, float]
    slower: float
    spread_ratios: dict[str, float]


FULL_GOALS = Goals(0.0025, 0.005, (0.93, 0.99), 0.90, {REAL_TIME: 10.0, CPU_TIME: 3.0, MEDIAN: 3.0})
# Twice the error, half the lead, and 30 of 36 sittings.
QUICK_GOALS = Goals(0.005, 0.01, (30 / 36, 1.0), 0.80, {REAL_TIME: 5.0, CPU_TIME: 1.5, MEDIAN: 1.5})


@dataclass(frozen=True)
class Judged:
    """A figure with its goal."""

    figure: str
    value: float
    unit: str
    goal: str
    holds: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class LeftOut:
    """A figure that has a goal but could not be made, and why."""

    figure: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(rows: Sequence[Row], goals: Goals, is_quick: bool) -> list[Judged | LeftOut]:
    """Return every figure that has a goal, for each load in turn."""
    found: list[Judged | LeftOut] = []
    for condition in dict.fromkeys(row.condition for row in rows):
        under = [row for row in rows if row.condition == condition]
        ours = [row for row in under if row.processes == _JUDGED_PROCESSES]
        name = condition.name
        found.append(_error(ours, goals, condition))
        found.append(_coverage(ours, goals, name, is_quick))
        found += _power(ours, goals, name)
        found += _spreads(under, ours, goals, name)
    return found


def _error(ours: Sequence[Row], goals: Goals, condition: Condition) -> Judged | LeftOut:
    if condition == AS_FOUND:
        return LeftOut(f"A/A error, p99, worst kernel, {IDLE.name}", "the machine was not idle when it began")
    figure = f"A/A error, p99, worst kernel, {condition.name}"
    errors = [row.error_p99 for row in ours if row.error_p99 is not None]
    if len(errors) < len(ours) or not errors:
        return LeftOut(figure, "too few sets of processes gave a figure")
    bound = goals.error_p99_idle if condition == IDLE else goals.error_p99_stressed
    return _at_most(figure, max(errors), bound)


def _coverage(ours: Sequence[Row], goals: Goals, condition: str, is_quick: bool) -> Judged | LeftOut:
    figure = f"intervals that hold the truth, {condition}"
    covered, groups = (sum(row.covered[at] for row in ours) for at in (0, 1))
    shares = [row.agreement.coverage for row in ours if row.agreement]
    if groups == 0 or not shares:
        return LeftOut(figure, "too few sets of processes gave a figure")
    share = covered / groups if is_quick else fmean(shares)
    least, most = goals.coverage
    counted = f"{covered} of {groups} sittings" if is_quick else f"{REGROUPINGS} regroupings a kernel"
    goal = f"{100 * least:.0f} to {100 * most:.0f} ({counted})"
    return Judged(figure, 100 * share, "%", goal, least <= share <= most)


def _power(ours: Sequence[Row], goals: Goals, condition: str) -> Iterator[Judged | LeftOut]:
    figure = f"+1 % called slower, worst kernel of at least 30 µs, {condition}"
    told = [row.power.slower for row in ours if row.power and (row.time_ns or 0.0) >= _POWER_NS]
    if told:
        yield _at_least(figure, min(told), goals.slower)
    else:
        yield LeftOut(figure, "no kernel of at least 30 µs gave a figure")
    wrong = [row.power.faster for row in ours if row.power]
    if wrong:
        yield _at_most(f"+1 % called faster, worst kernel, {condition}", max(wrong), 0.0)


def _spreads(
    under: Sequence[Row], ours: Sequence[Row], goals: Goals, condition: str
) -> Iterator[Judged | LeftOut]:
    """How many times larger another tool's figures are.

    First the spread, from run to run, of what is reported and ranked by: their time, our speed-up. Then the error
    of a comparison of equals.
    """
    for way, bound in goals.spread_ratios.items():
        theirs = [row for row in under if row.way == way]
        if not theirs:
            continue
        spreads = {row.kernel: row.agreement.spread for row in ours if row.agreement}
        figure = f"spread of what is reported, {way} over our speed-up, {condition}"
        yield _ratio(figure, {row.kernel: row.spread for row in theirs}, spreads, bound)
        figure = f"A/A error, p50, {way} over ours, {condition}"
        errors = {row.kernel: row.error_p50 for row in ours}
        yield _ratio(figure, {row.kernel: row.error_p50 for row in theirs}, errors, bound)


def _ratio(
    figure: str, theirs: Mapping[str, float | None], ours: Mapping[str, float | None], bound: float
) -> Judged | LeftOut:
    ratios = [
        other / max(mine, _LEAST_SPREAD)
        for kernel, other in theirs.items()
        if other is not None and (mine := ours.get(kernel)) is not None
    ]
    if not ratios:
        return LeftOut(figure, "it takes two runs of both")
    least = min(ratios)
    return Judged(f"{figure}, worst kernel", least, "times", f"at least {bound:g}", least >= bound)


def _at_most(figure: str, share: float, bound: float) -> Judged:
    return Judged(figure, 100 * share, "%", f"at most {100 * bound:g}", share <= bound)


def _at_least(figure: str, share: float, bound: float) -> Judged:
    return Judged(figure, 100 * share, "%", f"at least {100 * bound:g}", share >= bound)
