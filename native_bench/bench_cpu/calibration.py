"""How many multiplications make a kernel one percent slower. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

INJECTED = 0.01
# Chains long enough to be timed well: about these shares of the kernel's time, at about a nanosecond a step.
_FEWER, _MORE = 0.05, 0.25
_STEP_NS = 1.0
# What a core has under way at once: no more of a chain can hide behind the kernel's end.
_MOST_HIDDEN = 64


@dataclass(frozen=True)
class Chained:
    """A kernel with a chain of so many steps, and ln(its time / the plain kernel's)."""

    steps: int
    log_ratio: float


def trial_steps(plain_ns: float) -> tuple[int, int]:
    """Return two lengths of chain to be timed, as powers of two: libraries of an earlier run then serve again."""
    fewer, more = (_power_of_two(share * plain_ns / _STEP_NS) for share in (_FEWER, _MORE))
    return fewer, max(more, 2 * fewer)


def chain_steps(plain_ns: float, fewer: Chained, more: Chained) -> int:
    """Return the steps that make a kernel of `plain_ns` one percent slower; never fewer than one.

    Two longer chains tell what a step takes, and how many cost nothing because they run beside the kernel's end.
    """
    added = [math.expm1(chained.log_ratio) for chained in (fewer, more)]
    step_share = (added[1] - added[0]) / (more.steps - fewer.steps)
    if step_share <= 0:
        return max(1, round(INJECTED * plain_ns / _STEP_NS))
    hidden = min(max(0.0, fewer.steps - added[0] / step_share), _MOST_HIDDEN)
    return max(1, round(INJECTED / step_share + hidden))


def injected_share(plain_ns: Sequence[float], slowed_ns: Sequence[float]) -> float:
    """Return by what share the slowed kernel's least time is longer: what the chain really added."""
    return min(slowed_ns) / min(plain_ns) - 1


def _power_of_two(value: float) -> int:
    return 1 << max(2, round(value).bit_length() - 1)
