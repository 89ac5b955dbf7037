"""A run record's figures as one speed-up: the weighted geometric mean over the cases, with its interval."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from submissions.evaluation.statistics import Interval, combine_cases, ratio_interval

Other = Literal["baseline", "incumbent"]


def speedup_over(
    cases: Sequence[Mapping[str, Any]], weights: Mapping[str, float], other: Other
) -> Interval | None:
    """Return time(other) / time(candidate) over all cases of `weights`, by case id.

    None where the record does not hold it: a case is missing or unknown, was not timed against `other`, or the
    cases differ in their number of processes.
    """
    ratios = {case["id"]: case.get("log_ratio", {}).get(other, ()) for case in cases}
    if not weights or set(ratios) != set(weights) or len(ratios) != len(cases):
        return None
    processes = {len(values) for values in ratios.values()}
    if len(processes) != 1 or processes == {0}:
        return None
    return ratio_interval(combine_cases([(weights[case_id], ratios[case_id]) for case_id in sorted(ratios)]))
