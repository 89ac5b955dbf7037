"""The ledger's records of a submission, a run and a decision: valid against their schemas, free of secrets."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from submissions.evaluation.decision import Decision, Standing
from submissions.evaluation.verdicts import Evidence
from submissions.kernel_package.errors import Broken, Rejected
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.schema import check_schema

LOG_CHARACTERS = 8000
MESSAGE_CHARACTERS = 2000


@dataclass(frozen=True)
class SubmissionFacts:
    """What is known of a submission from its upload on; `tree_digest` is "" when it could not be unpacked."""

    uuid: str
    kernel_id: str
    submitter: str
    submitter_is_verified: bool
    mode: str
    message: str
    package_sha256: str
    package_bytes: int
    received_at: datetime
    tree_digest: str = ""
    problem_version: int | None = None
    idempotency_key: str = ""


@dataclass(frozen=True)
class Ending:
    """How a submission ended; `state` is a terminal state, or accepted."""

    state: str
    code: str
    reason: str
    finished_at: datetime
    details: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunnerFacts:
    """The runner as a record names it; all empty when no runner took the run."""

    name: str = ""
    device: str = ""
    isolation: str = ""
    driver: str | None = None


@dataclass(frozen=True)
class RunFacts:
    """What the site knows of a run, beside what its runner reports."""

    uuid: str
    kind: str
    kernel_id: KernelId
    problem_version: int
    finished_at: datetime
    submission: str | None = None
    mode: str = "ranked"
    attempt: int = 1
    epoch: int = 0
    runner: RunnerFacts = field(default_factory=RunnerFacts)
    artifacts: Mapping[str, str] = field(default_factory=dict)


def timestamp(moment: datetime) -> str:
    """Return an aware time as records write it, in UTC; `parse_timestamp` reads it back exactly."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text)


def submission_record(facts: SubmissionFacts, ending: Ending) -> dict[str, Any]:
    """Return submission.json; a rejected upload's has no tree digest and no runs."""
    record = {
        "schema_version": 1,
        **asdict(facts),
        "tree_digest": facts.tree_digest or None,
        "received_at": timestamp(facts.received_at),
        "state": ending.state,
        "code": ending.code,
        "reason": ending.reason[:MESSAGE_CHARACTERS],
        "finished_at": timestamp(ending.finished_at),
        "details": dict(ending.details),
        "runs": list(ending.runs),
    }
    return _checked(record, "submission")


def run_record(result: Mapping[str, Any], facts: RunFacts) -> dict[str, Any]:
    """Return run-<n>.json from a runner's result (as JSON) and what the site knows.

    Raises Broken `record:invalid` when the result does not fit: then the runner is at fault, not the entrant.
    """
    record = {
        "schema_version": 1,
        "uuid": facts.uuid,
        "kind": facts.kind,
        "submission": facts.submission,
        "mode": facts.mode,
        "attempt": facts.attempt,
        "epoch": facts.epoch,
        "kernel_id": str(facts.kernel_id),
        "problem_id": str(facts.kernel_id.problem),
        "problem_version": facts.problem_version,
        "runner": asdict(facts.runner),
        "finished_at": timestamp(facts.finished_at),
        "artifacts": dict(facts.artifacts),
        **{name: result[name] for name in _FROM_RESULT},
        "cases": [_without_odd_error(case) for case in result["cases"]],
        "message": result["message"][:MESSAGE_CHARACTERS],
        "log": result["log"][-LOG_CHARACTERS:],
    }
    return _checked(record, "run")


_FROM_RESULT = (
    "verdict", "code", "stage", "stages_ms", "evidence", "details", "contestants", "secret_sha256",
    "harness_version", "processes", "environment",
)  # fmt: skip


def empty_result(verdict: str, code: str, message: str, stage: str = "") -> dict[str, Any]:
    """Return the result of a run that no runner reported on: lost, cancelled, or broken on our side."""
    return {
        "verdict": verdict,
        "code": code,
        "message": message,
        "stage": stage,
        "stages_ms": {},
        "evidence": str(Evidence.STATIC),
        "details": {},
        "cases": [],
        "contestants": {"candidate": None, "baseline": None, "incumbent": None},
        "secret_sha256": "",
        "harness_version": "",
        "processes": 0,
        "environment": {},
        "log": "",
        "samples": "",
    }


def decision_record(
    decision: Decision,
    submission: str,
    run: str | None,
    kernel_id: KernelId,
    standing: Standing | None,
    decided_at: datetime,
) -> dict[str, Any]:
    """Return decision.json; `standing` is the version the decision was made against."""
    incumbent = None if standing is None else {"commit": standing.commit or None, "digest": standing.digest}
    record = {
        "schema_version": 1,
        **decision.as_json(),
        "submission": submission,
        "run": run,
        "kernel_id": str(kernel_id),
        "incumbent": incumbent,
        "decided_at": timestamp(decided_at),
    }
    return _checked(record, "decision")


def _without_odd_error(case: Mapping[str, Any]) -> dict[str, Any]:
    # A kernel that writes NaN has no finite error, and JSON has no infinity.
    error = case.get("max_scaled_error")
    is_odd = isinstance(error, float) and not math.isfinite(error)
    return {**case, "max_scaled_error": None} if is_odd else dict(case)


def _plain(value: Any) -> Any:
    """Return JSON data that every store of ours can keep: no NaN, no NUL, no lone surrogate."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _checked(record: dict[str, Any], schema_name: str) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = _plain(record)
        check_schema(plain, schema_name, f"{schema_name} record")
    except Rejected as fault:
        raise Broken("record:invalid", fault.message, **fault.details) from None
    except RecursionError:
        raise Broken("record:invalid", f"{schema_name} record: it is nested too deeply") from None
    return plain
