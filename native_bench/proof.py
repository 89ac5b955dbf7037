"""From single judgements to a proof: which mutants survive, which honest variants have too little room."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from native_bench.contract import Contract
from submissions.kernel_package.names import ProblemId

# An honest computation keeps to a quarter of its bound, and the worst one takes more than a 64th of that.
HONEST_SHARE = 0.25
_LEAST_USE = HONEST_SHARE / 64
# What stays within so many times the worst honest error counts as honest rounding: less would pass for a
# computation that is right on a distribution, more would excuse a tolerance that is too loose.
_ALIKE = 4.0


@dataclass(frozen=True)
class Judged:
    """What the Judge said of one variant or mutant on one draw.

    `where` has the dims, the distribution, and the output if one alone is meant: the same for all draws of them.
    `scaled_error` is the greatest error over the bound, `margin` that without what the storing of the truth takes.
    """

    is_variant: bool
    name: str
    where: str
    margin: float
    scaled_error: float
    is_refused: bool


@dataclass(frozen=True)
class VariantProof:
    """An honest computation over all draws: its greatest error, the part of the bound it uses, its worst draw."""

    name: str
    greatest_error: float
    used: float
    worst: Judged
    is_passing: bool


@dataclass(frozen=True)
class MutantProof:
    """A wrong computation: the draws where it was caught, where it survived, where it was as good as honest."""

    name: str
    caught: tuple[Judged, ...]
    survived: tuple[Judged, ...]
    alike: int

    @property
    def differing(self) -> int:
        return len(self.caught) + len(self.survived)

    @property
    def surviving_at(self) -> tuple[str, ...]:
        """The distributions, at their dims, where it survives in half or more of the draws in which it differs.

        One draw may be luck: a single number that is rounded coarsely is sometimes the right one.
        """
        caught, survived = (Counter(one.where for one in part) for part in (self.caught, self.survived))
        return tuple(where for where, count in survived.items() if count >= caught[where])

    @property
    def smallest_margin(self) -> float | None:
        """The least of its errors over the bound in the draws where it differs; None where it never does."""
        return min((one.margin for one in (*self.caught, *self.survived)), default=None)


@dataclass(frozen=True)
class Verification:
    """What came out for one problem; it holds when there are no faults."""

    problem_id: ProblemId
    mutants: tuple[MutantProof, ...] = ()
    variants: tuple[VariantProof, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.faults


def conclude(contract: Contract, judged: Sequence[Judged]) -> Verification:
    """Return the proof that the judgements of all draws amount to."""
    variants = tuple(_variant(name, judged) for name in contract.variants)
    honest = max((variant.greatest_error for variant in variants), default=0.0)
    mutants = tuple(_mutant(name, judged, _ALIKE * honest) for name in contract.problem.must_fail)
    faults = [*_variant_faults(variants), *_mutant_faults(mutants)]
    if contract.problem.tolerance.kind != "exact":
        faults += _looseness(variants, mutants)
    return Verification(contract.problem.id, mutants, variants, tuple(faults))


def _variant(name: str, judged: Sequence[Judged]) -> VariantProof:
    own = [one for one in judged if one.is_variant and one.name == name]
    worst = max(own, key=lambda one: (one.is_refused, one.margin))
    greatest = max(one.margin for one in own)
    used = max(one.scaled_error for one in own)
    return VariantProof(name, greatest, used, worst, not worst.is_refused and greatest <= HONEST_SHARE)


def _mutant(name: str, judged: Sequence[Judged], room: float) -> MutantProof:
    own = [one for one in judged if not one.is_variant and one.name == name]
    caught = tuple(one for one in own if one.is_refused)
    survived = tuple(one for one in own if not one.is_refused and one.margin > room)
    return MutantProof(name, caught, survived, len(own) - len(caught) - len(survived))


def _variant_faults(variants: Sequence[VariantProof]) -> Iterator[str]:
    for variant in variants:
        if not variant.is_passing:
            worst = variant.worst
            share = "differs" if math.isinf(worst.margin) else f"uses {worst.margin:.3g} of the bound"
            yield (
                f"reference.py, VARIANTS: {variant.name} {share} at {worst.where}; at most {HONEST_SHARE} is "
                "allowed: the tolerance is too tight, or the computation is not honest"
            )


def _looseness(variants: Sequence[VariantProof], mutants: Sequence[MutantProof]) -> Iterator[str]:
    """Refuse a bound far above all that is honest, even where no mutant lies in between."""
    used = max(variant.used for variant in variants)
    if used <= _LEAST_USE:
        margins = [(margin, mutant.name) for mutant in mutants if (margin := mutant.smallest_margin) is not None]
        margin, name = min(margins, default=(math.inf, "none"))
        yield (
            f"problem.yaml, tolerance: too loose: no honest computation takes more than {used:.3g} of the bound, "
            f"and the nearest mutant, {name}, is off by {margin:.3g} of it; for exact results say `kind: exact`"
        )


def _mutant_faults(mutants: Sequence[MutantProof]) -> Iterator[str]:
    for mutant in mutants:
        if mutant.surviving_at:
            places = ", ".join(
                f"{where} ({_least(mutant, where):.3g} of the bound)" for where in mutant.surviving_at
            )
            yield f"problem.yaml, must_fail: {mutant.name} survives at {places}: the tolerance is too loose"
        elif not mutant.caught:
            yield f"problem.yaml, must_fail: {mutant.name} is never caught: no draw tells it from an honest result"


def _least(mutant: MutantProof, where: str) -> float:
    return min(one.margin for one in mutant.survived if one.where == where)
