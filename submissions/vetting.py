"""Look through a runner's result before it is kept: it must be of this lease, and hold nothing secret."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from submissions import secrets
from submissions.board import board_of
from submissions.evaluation.records import empty_result
from submissions.evaluation.speedup import speedup_over
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Problem
from submissions.models import Run, RunKind
from submissions.store import reader

REDACTED = "[secret]"


def vetted(run: Run, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result as it may be kept; as a fault of ours where it contradicts the lease it came under."""
    clean = _without_secret(run, result)
    problem = board_of(reader(), run.kernel_id, run.incumbent_commit).problem().problem
    if run.kind != RunKind.SWEEP:
        _drop_hidden(clean, {case.id for case in problem.cases})
    fault = _contradiction(run, clean, problem)
    return empty_result(Verdict.INFRA_ERROR, *fault, stage=clean["stage"]) if fault else clean


def _without_secret(run: Run, result: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(result)
    secret = secrets.run_secret(run.pk, run.epoch).hex()
    document: dict[str, Any] = json.loads(text.replace(secret, REDACTED).replace(secret.upper(), REDACTED))
    return document


def _drop_hidden(result: dict[str, Any], public: set[str]) -> None:
    result["cases"] = [case for case in result["cases"] if case.get("id") in public]
    first_wrong = result["details"].get("first_wrong")
    if first_wrong is not None and first_wrong.get("case") not in public:
        # Where a hidden case failed, and by how much, would let the entrant work out its inputs.
        del result["details"]["first_wrong"]


def _contradiction(run: Run, result: Mapping[str, Any], problem: Problem) -> tuple[str, str] | None:
    if result["verdict"] not in set(Verdict):
        return "run:unknown-verdict", f"the runner gave the unknown verdict {result['verdict']!r}"
    if result["verdict"] != Verdict.OK:
        return None
    contestants = result["contestants"]
    if result["secret_sha256"] != secrets.run_secret_sha256(run.pk, run.epoch):
        return "run:secret-differs", "the result was made with another lease's secret"
    if run.submission is not None and contestants.get("candidate") != run.submission.tree_digest:
        return "run:candidate-differs", "the result is of another package than the one submitted"
    if (contestants.get("incumbent") or "") != run.incumbent_digest:
        return "run:incumbent-differs", "the result was compared with another version than the one given"
    return _missing_figures(run, result, problem)


def _missing_figures(run: Run, result: Mapping[str, Any], problem: Problem) -> tuple[str, str] | None:
    if run.kind != RunKind.MEASURE:
        return None
    compared: tuple[Literal["baseline", "incumbent"], ...]
    compared = ("baseline", "incumbent") if run.incumbent_digest else ("baseline",)
    for other in compared:
        if speedup_over(result["cases"], problem.weights, other) is None:
            return "run:figures-missing", f"the result lacks figures against the {other} for some case"
    return None
