"""Intervals over process medians, in logs. Small total functions: every input has a defined answer, never NaN."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

# Two-sided 95 % quantiles of Student's t for 1..30 degrees of freedom (any statistics table).
_T_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_T_975_LIMIT = 1.9600

# No interval is narrower than this: layout effects below it were not resolved by more processes.
FLOOR_LOG = 0.0005


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; `lo <= value <= hi`."""

    value: float
    lo: float
    hi: float

    def overlaps(self, other: "Interval") -> bool:
        return self.lo <= other.hi and other.lo <= self.hi

    def lies_above(self, bound: float) -> bool:
        return self.lo > bound

    def as_json(self) -> dict[str, float]:
        return {"value": self.value, "lo": self.lo, "hi": self.hi}

    @classmethod
    def from_json(cls, document: Mapping[str, float]) -> "Interval":
        return cls(float(document["value"]), float(document["lo"]), float(document["hi"]))


def t_quantile(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t; `degrees` of at least 1."""
    if degrees < 1:
        return _T_975[0]
    return _T_975[degrees - 1] if degrees <= len(_T_975) else _T_975_LIMIT


def log_interval(process_values: Sequence[float]) -> Interval:
    """Return the interval of a log ratio from one value per process.

    The point is the median of the process values, the half-width `t * s / sqrt(P)` around their
    mean (Student), never under `FLOOR_LOG`, and always holding the point. With one process the
    spread is unknown: the half-width is then 5 %, so that nothing is separated by it.
    """
    if not process_values:
        raise ValueError("an interval needs at least one process")
    point = median(process_values)
    if len(process_values) == 1:
        half = 0.05
        centre = point
    else:
        centre = fmean(process_values)
        spread = stdev(process_values)
        half = t_quantile(len(process_values) - 1) * spread / math.sqrt(len(process_values))
    half = max(half, FLOOR_LOG)
    return Interval(point, min(centre - half, point), max(centre + half, point))


def ratio_interval(process_log_ratios: Sequence[float]) -> Interval:
    """Return the interval of a ratio from `ln(ratio)` per process."""
    logs = log_interval(process_log_ratios)
    return Interval(math.exp(logs.value), math.exp(logs.lo), math.exp(logs.hi))


def time_interval(process_minima_ns: Sequence[float]) -> Interval:
    """Return a time in ns from each process's minimum: the median, with the spread's t interval."""
    logs = log_interval([math.log(value) for value in process_minima_ns])
    return Interval(math.exp(logs.value), math.exp(logs.lo), math.exp(logs.hi))


def combine_cases(per_case: Sequence[tuple[float, Sequence[float]]]) -> list[float]:
    """Return one log ratio per process over all cases: the weighted mean of logs (geometric mean).

    `per_case` holds (weight, log ratios per process); every case has the same number of processes.
    """
    if not per_case:
        raise ValueError("no case to combine")
    processes = {len(values) for _, values in per_case}
    if len(processes) != 1:
        raise ValueError("the cases differ in their number of processes")
    total = sum(weight for weight, _ in per_case)
    return [
        sum(weight * values[process] for weight, values in per_case) / total for process in range(processes.pop())
    ]
