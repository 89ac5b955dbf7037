"""How near a kernel is to what its machine can do: the measured limits, and the least time that they allow.

The limits come from outside. Where they are missing, or lack what a problem counts in, every answer is None.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

Bound = Literal["memory", "compute"]
Floor = Literal["violated", "flagged"]

# What a problem's `unit` may name so that a CPU runner can measure it; a processor may lack the later ones.
UNITS = ("fp32_fma", "fp64_fma", "fp32_add", "fp64_add", "i32_add", "i32_mad", "fp16_fma", "bf16_dot", "i8_dot")

# How far below the floor a time may lie before it is held against the kernel: roofs are known to some percent.
_TOLERATED = 0.9


@dataclass(frozen=True)
class Level:
    """A cache, or memory itself, which holds everything (`capacity_bytes` None).

    `bytes_per_second` has a rate for each kind of traffic, measured on a set of `measured_bytes`.
    """

    name: str
    capacity_bytes: int | None
    measured_bytes: int
    bytes_per_second: Mapping[str, float]

    def holds(self, working_set_bytes: int) -> bool:
        return self.capacity_bytes is None or working_set_bytes <= self.capacity_bytes

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "capacity_bytes": self.capacity_bytes,
            "measured_bytes": self.measured_bytes,
            "bytes_per_second": dict(self.bytes_per_second),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        capacity = document["capacity_bytes"]
        return cls(
            str(document["name"]),
            None if capacity is None else int(capacity),
            int(document["measured_bytes"]),
            _rates(document["bytes_per_second"]),
        )


@dataclass(frozen=True)
class Limits:
    """What one core can do: its levels of memory, nearest first, and the operations per second of each unit."""

    levels: tuple[Level, ...]
    operations_per_second: Mapping[str, float]

    def greatest(self, other: "Limits") -> "Limits":
        """Return these limits, each rate being the greater of the two measurings: a roof is the most ever seen."""
        seen = {level.name: level.bytes_per_second for level in other.levels}
        levels = tuple(
            Level(
                level.name,
                level.capacity_bytes,
                level.measured_bytes,
                _greatest(level.bytes_per_second, seen.get(level.name, {})),
            )
            for level in self.levels
        )
        return Limits(levels, _greatest(self.operations_per_second, other.operations_per_second))

    def as_json(self) -> dict[str, Any]:
        return {
            "levels": [level.as_json() for level in self.levels],
            "operations_per_second": dict(self.operations_per_second),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `as_json` wrote; raises ValueError on anything else."""
        try:
            levels = tuple(Level.from_json(level) for level in document["levels"])
            return cls(levels, _rates(document["operations_per_second"]))
        except (KeyError, TypeError, AttributeError) as fault:
            raise ValueError(f"these are no limits of a machine: {fault!r}") from None


@dataclass(frozen=True)
class SolTime:
    """The least time in which a machine does a case's work, its speed of light.

    `ns` is the roofline: what the memory or the unit needs, the longer of the two. `least_ns`, never more, is what
    no kernel beats even where a cache is larger than the system tells. `level` is the smallest that holds the set.
    """

    ns: float
    bound: Bound
    level: str
    least_ns: float


def sol_time_ns(
    bytes_min: int, flops: int, unit: str, working_set_bytes: int, mode: str, limits: Limits | None
) -> SolTime | None:
    """Return the least time of one call that moves `bytes_min` bytes and does `flops` operations of `unit`.

    `working_set_bytes` is what all calls of one batch touch. Cold, all of it is in memory. Hot, it lies in the
    smallest level that holds it, but for what may still be in the nearer ones: as much as they hold. Of a level's
    kinds of traffic the fastest counts, a farther level's included.
    """
    if limits is None:
        return None
    tiers = _tiers(limits.levels, working_set_bytes, mode)
    compute_ns = _compute_ns(flops, unit, limits)
    if not tiers or compute_ns is None:
        return None
    moved = max(0, bytes_min)
    memory_ns = moved * _ns_per_byte(tiers, working_set_bytes, mode)
    ns = max(memory_ns, compute_ns)
    if ns <= 0:
        return None
    least_ns = min(ns, max(moved * _least_ns_per_byte(tiers, working_set_bytes, mode), compute_ns))
    return SolTime(ns, "memory" if memory_ns >= compute_ns else "compute", tiers[-1].level.name, least_ns)


def sol_fraction(t_ns: float, t_sol_ns: float | None) -> float | None:
    """Return which part of the limit's speed a time reaches: 1 is at the limit."""
    return None if t_sol_ns is None or not _are_times(t_ns, t_sol_ns) else t_sol_ns / t_ns


def headroom(t_ns: float, t_sol_ns: float | None) -> float | None:
    """Return how many times faster than `t_ns` the limit is: 1 is at the limit."""
    return None if t_sol_ns is None or not _are_times(t_ns, t_sol_ns) else t_ns / t_sol_ns


def sol_score(t_ns: float, t_base_ns: float, t_sol_ns: float | None) -> float | None:
    """Return 1 / (1 + (t - t_sol) / (t_base - t_sol)), SOL-ExecBench's score: 0.5 is the baseline, 1 the limit.

    None where the baseline is at the limit or beyond it: there is no gap to measure by. A time beyond the limit
    scores 1: what it is worth is for `floor` to say.
    """
    if t_sol_ns is None or not _are_times(t_ns, t_base_ns, t_sol_ns):
        return None
    gap_ns = t_base_ns - t_sol_ns
    if gap_ns <= 0:
        return None
    return gap_ns / (gap_ns + max(0.0, t_ns - t_sol_ns))


def floor(t_ns: float, sol: SolTime | None) -> Floor | None:
    """Say whether a time is too good to be true.

    Violated: more than a tenth below what no kernel can beat. Flagged: faster than the roofline, so that the roof,
    the problem's count of bytes or operations, or the kernel is not what we think.
    """
    if sol is None or not _are_times(t_ns, sol.ns, sol.least_ns):
        return None
    if t_ns < _TOLERATED * sol.least_ns:
        return "violated"
    return "flagged" if t_ns < sol.ns else None


@dataclass(frozen=True)
class _Tier:
    """A level that part of a set may be in, and what a byte takes there."""

    level: Level
    ns_per_byte: float


def _tiers(levels: Sequence[Level], working_set_bytes: int, mode: str) -> list[_Tier]:
    """Return the levels that serve a set, the one that holds it last; none where that can't be told."""
    tiers: list[_Tier] = []
    for at, level in enumerate(levels):
        # A nearer level is never slower than a farther one: where it seems to be, its measuring was disturbed.
        rate = max((rate for farther in levels[at:] for rate in farther.bytes_per_second.values()), default=0.0)
        if rate <= 0:
            return []
        tiers.append(_Tier(level, 1e9 / rate))
        if level.capacity_bytes is None or (mode == "hot" and level.holds(working_set_bytes)):
            return tiers if mode in ("hot", "cold") else []
    return []


def _ns_per_byte(tiers: Sequence[_Tier], working_set_bytes: int, mode: str) -> float:
    """Return the mean over a set of which, if hot, each level serves what it can hold beyond the level before."""
    if mode == "cold":
        return tiers[-1].ns_per_byte
    size = max(1, working_set_bytes)
    total, reached = 0.0, 0
    for tier in tiers:
        held = size if tier.level.holds(size) else max(reached, tier.level.capacity_bytes or 0)
        total += (held - reached) / size * tier.ns_per_byte
        reached = held
    return total


def _least_ns_per_byte(tiers: Sequence[_Tier], working_set_bytes: int, mode: str) -> float:
    """Return what a byte took in the largest measured set that is no larger than this one: no set moves faster
    than a smaller one, wherever the caches really end. Of a cold set what is written may go no farther than the
    nearest level until the clock has stopped."""
    if mode == "cold":
        return tiers[0].ns_per_byte
    measured = [tier.ns_per_byte for tier in tiers if tier.level.measured_bytes <= working_set_bytes]
    return measured[-1] if measured else tiers[0].ns_per_byte


def _compute_ns(flops: int, unit: str, limits: Limits) -> float | None:
    if flops <= 0:
        return 0.0
    rate = limits.operations_per_second.get(unit, 0.0)
    return flops / rate * 1e9 if rate > 0 else None


def _are_times(*values_ns: float) -> bool:
    return all(math.isfinite(value) and value > 0 for value in values_ns)


def _greatest(rates: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    return {name: max(rates.get(name, 0.0), others.get(name, 0.0)) for name in {**rates, **others}}


def _rates(document: Mapping[str, Any]) -> dict[str, float]:
    rates = {str(name): float(rate) for name, rate in document.items()}
    for name, rate in rates.items():
        if not _are_times(rate):
            raise ValueError(f"the rate of {name} is {rate}, not a positive number")
    return rates
