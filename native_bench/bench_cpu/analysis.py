"""What process values say of the clock: agreement of equals, power to tell a slower one, spread of times. Pure."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, stdev

from submissions.evaluation.statistics import Interval, log_interval

REGROUPINGS = 4000


@dataclass(frozen=True)
class Agreement:
    """How far equal kernels are found apart by sittings of some processes; all values are fractions."""

    spread: float
    p50: float
    p99: float
    coverage: float
    half_width: float


@dataclass(frozen=True)
class Power:
    """Of sittings with a slower kernel, the fractions that call it slower and (wrongly) faster."""

    slower: float
    faster: float


def agreement(log_ratios: Sequence[float], processes: int) -> Agreement | None:
    """Regroup A/A process values into sittings of `processes`; None where there are not enough.

    The truth is 0. Which of two equals is called the candidate is a coin's choice per sitting, so that what always
    favours one of them counts in the spread, too.
    """
    if len(log_ratios) < processes:
        return None
    coin = random.Random(f"agreement {processes}")
    points: list[float] = []
    halves: list[float] = []
    covered = 0
    for values in regroupings(log_ratios, processes, coin):
        sign = coin.choice((-1.0, 1.0))
        found = log_interval([sign * value for value in values])
        points.append(found.value)
        halves.append((found.hi - found.lo) / 2)
        covered += covers(found)
    errors = [abs(math.expm1(point)) for point in points]
    return Agreement(
        stdev(points), quantile(errors, 0.5), quantile(errors, 0.99), covered / len(points), median(halves)
    )


def power(log_ratios: Sequence[float], processes: int) -> Power | None:
    """Regroup process values of ln(slowed / plain); None where there are not enough."""
    if len(log_ratios) < processes:
        return None
    coin = random.Random(f"power {processes}")
    found = [log_interval(values) for values in regroupings(log_ratios, processes, coin)]
    slower = sum(interval.lo > 0 for interval in found)
    faster = sum(interval.hi < 0 for interval in found)
    return Power(slower / len(found), faster / len(found))


def regroupings(values: Sequence[float], size: int, coin: random.Random) -> Iterator[list[float]]:
    """Yield 4000 random groups of `size` values, none twice within a group."""
    for _ in range(REGROUPINGS):
        yield coin.sample(values, size)


def disjoint(values: Sequence[float], size: int) -> list[Sequence[float]]:
    """Return the values in groups of `size` as they were measured, one after another; the rest is left out."""
    return [values[at : at + size] for at in range(0, len(values) - size + 1, size)]


def covered_groups(log_ratios: Sequence[float], processes: int) -> tuple[int, int]:
    """Return how many disjoint sittings of equals have the truth in their interval, and how many there are."""
    groups = disjoint(log_ratios, processes)
    return sum(covers(log_interval(group)) for group in groups), len(groups)


def covers(interval: Interval) -> bool:
    """Say whether the interval of a log ratio holds 0, the truth of equals."""
    return interval.lo <= 0 <= interval.hi


def sitting_times(process_minima_ns: Sequence[float], processes: int) -> list[float]:
    """Return the time each disjoint sitting would report: the median of its processes' minima."""
    return [median(group) for group in disjoint(process_minima_ns, processes)]


def variation(values: Sequence[float]) -> float | None:
    """Return the coefficient of variation, standard deviation over mean; None of fewer than two values."""
    return stdev(values) / fmean(values) if len(values) >= 2 else None


def pair_errors(times: Sequence[float]) -> list[float]:
    """Return the error of each comparison of equals that is made of two runs, one after the other."""
    return [abs(later / earlier - 1) for earlier, later in pairwise(times)]


def quantile(values: Sequence[float], share: float) -> float:
    """Return the least value that `share` of all values do not exceed; of none, 0."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
