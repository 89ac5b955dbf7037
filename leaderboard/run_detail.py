"""What pages and API show of one run: verdict first, then stages, cases and what helps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from submissions.evaluation.verdicts import STAGES
from submissions.models import Run


@dataclass(frozen=True)
class StageDuration:
    """One stage of a run; `ms` is None for the stage that is on or was not reached."""

    name: str
    ms: float | None


@dataclass(frozen=True)
class RunView:
    """One run, finished or not; `record` is the ledger's, None until it is over.

    With a record, the times are the record's: `queued_at` is None then, `started_at` the end less the stages.
    """

    uuid: str
    submission: str | None
    kernel_id: str
    number: int
    kind: str
    arch: str
    problem_version: int
    state: str
    stage: str
    progress: float
    attempt: int
    runner: str
    verdict: str
    code: str
    message: str
    evidence: str
    device: str
    isolation: str
    stages: tuple[StageDuration, ...]
    cases: tuple[Mapping[str, Any], ...]
    details: Mapping[str, Any]
    record: Mapping[str, Any] | None
    log: str
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


def run_view(uuid: UUID | str) -> RunView | None:
    """Return one run, or None where there is none."""
    run = Run.objects.filter(uuid=uuid).first()
    return run_of_row(run) if run else None


def run_of_row(run: Run) -> RunView:
    record: Mapping[str, Any] = run.record or {}
    runner: Mapping[str, Any] = record.get("runner") or {}
    return RunView(
        uuid=str(run.uuid),
        submission=str(run.submission_id) if run.submission_id else None,
        kernel_id=run.kernel_id,
        number=run.number,
        kind=run.kind,
        arch=run.arch,
        problem_version=run.problem_version,
        state=run.state,
        stage=run.stage,
        progress=run.progress,
        attempt=run.attempt,
        runner=str(runner.get("name", run.runner_name)),
        verdict=run.verdict,
        code=run.code,
        message=run.message,
        evidence=str(record.get("evidence", "")),
        device=str(runner.get("device") or ""),
        isolation=str(runner.get("isolation") or ""),
        stages=_stages(record.get("stages_ms") or {}),
        cases=tuple(record.get("cases") or ()),
        details=record.get("details") or {},
        record=run.record,
        log=run.log,
        **_times(run),
    )


def _times(run: Run) -> dict[str, datetime | None]:
    if not run.record:
        return {"queued_at": run.queued_at, "started_at": run.started_at, "finished_at": run.finished_at}
    finished_at = datetime.fromisoformat(run.record["finished_at"])
    took = timedelta(milliseconds=sum(run.record["stages_ms"].values()))
    return {"queued_at": None, "started_at": finished_at - took, "finished_at": finished_at}


def _stages(stages_ms: Mapping[str, float]) -> tuple[StageDuration, ...]:
    return tuple(StageDuration(name, stages_ms.get(name)) for name in STAGES)
