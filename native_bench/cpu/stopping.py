"""When a sitting has enough sets of processes, and when its figures say nothing. Pure."""

import math
from collections.abc import Sequence
from typing import Literal

from submissions.evaluation.statistics import log_interval

MOST_PROCESSES = 9
# A wider interval (half-width, in logs) is worth more processes.
_WIDE = 0.05
# A baseline that takes twice as long in one process as in another is no measure. Boost and layout explain a sixth.
_USELESS = math.log(2)
# Equal libraries must come out equal within this before anything else is timed.
SELF_TEST_LIMIT = 0.05
COLD_SELF_TEST_LIMIT = 0.2
SELF_TESTS = 5

Reason = Literal["contended", "clock", "ambiguous"]


def is_enough(log_ratios: Sequence[float], least: int, log_best: float | None) -> bool:
    """Say whether to stop after these process values of ln(baseline / candidate).

    `least` sets are always made; a mode of fewer than five is cheap by choice and never extended. More are made
    where the estimate beats `log_best`, the board's best so far, or the interval is wide.
    """
    if len(log_ratios) < least:
        return False
    if least < 5 or len(log_ratios) >= MOST_PROCESSES:
        return True
    figure = log_interval(log_ratios)
    beats_best = log_best is not None and figure.value > log_best
    return not beats_best and (figure.hi - figure.lo) / 2 <= _WIDE


def why_useless(baseline_logs: Sequence[float], is_contended: bool, is_clock_unsteady: bool) -> Reason | None:
    """Return why no figure may be made of a sitting, None where one may.

    Judged by the log of the baseline's time in each process: an entrant that makes its own times spread gets the
    wide interval that it has earned, not another try.
    """
    if is_clock_unsteady:
        return "clock"
    if max(baseline_logs) - min(baseline_logs) <= _USELESS:
        return None
    return "contended" if is_contended else "ambiguous"
