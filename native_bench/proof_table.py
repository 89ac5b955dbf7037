"""A proof as a person reads it in a terminal, and as JSON."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from native_bench.proof import MutantProof, Verification


def proof_text(proof: Verification) -> str:
    """Return the tables of one problem's mutants and variants, and what is wrong with it."""
    lines = [f"{proof.problem_id}: {'proved' if proof.holds else 'refused'}"]
    if proof.mutants:
        lines += ["", *_mutant_rows(proof.mutants), "", f"{'variant':<24} greatest scaled error"]
        lines += [f"{variant.name:<24} {_number(variant.greatest_error)}" for variant in proof.variants]
    if proof.faults:
        lines += ["", *proof.faults]
    return "\n".join(lines)


def last_line(proofs: Sequence[Verification]) -> str:
    """Return how many problems hold, and which do not."""
    refused = [str(proof.problem_id) for proof in proofs if not proof.holds]
    total = f"{len(proofs) - len(refused)} of {len(proofs)} problems hold"
    return f"{total}; refused: {', '.join(refused)}" if refused else total


def proofs_json(proofs: Sequence[Verification]) -> dict[str, Any]:
    """Return the proofs as JSON data; an error where none is allowed is the string "inf"."""
    return {"holds": all(proof.holds for proof in proofs), "problems": [_proof_json(proof) for proof in proofs]}


def _mutant_rows(mutants: Sequence[MutantProof]) -> Iterator[str]:
    yield f"{'mutant':<24} {'caught in':<18} {'as honest in':<14} smallest margin"
    for mutant in mutants:
        caught = f"{len(mutant.caught)} of {mutant.differing} draws"
        margin = mutant.smallest_margin
        # Below 1 every element is within bounds, and the array as a whole is not.
        by_guard = " (guard)" if margin is not None and margin <= 1 and not mutant.survived else ""
        shown = "-" if margin is None else _number(margin) + by_guard
        yield f"{mutant.name:<24} {caught:<18} {mutant.alike:<14} {shown}"


def _proof_json(proof: Verification) -> dict[str, Any]:
    return {
        "problem_id": str(proof.problem_id),
        "holds": proof.holds,
        "faults": list(proof.faults),
        "mutants": [_mutant_json(mutant) for mutant in proof.mutants],
        "variants": [
            {
                "name": variant.name,
                "max_scaled_error": _finite(variant.greatest_error),
                "passes": variant.is_passing,
            }
            for variant in proof.variants
        ],
    }


def _mutant_json(mutant: MutantProof) -> dict[str, Any]:
    margin = mutant.smallest_margin
    return {
        "name": mutant.name,
        "caught": len(mutant.caught),
        "draws": mutant.differing,
        "as_honest": mutant.alike,
        "smallest_margin": None if margin is None else _finite(margin),
        "survives_at": list(mutant.surviving_at),
    }


def _number(value: float) -> str:
    return f"{value:.3g}"


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
