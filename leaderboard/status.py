"""What a poller wants to know of a submission: state, stage, place in the queue, and how it ended."""

from typing import Any
from uuid import UUID

from leaderboard.models import Kernel
from leaderboard.queue_place import queue_place
from submissions.models import Run, RunState, State, Submission


def status_document(uuid: UUID) -> dict[str, Any] | None:
    """Return the status as data, None where there is no such submission. At most six queries."""
    submission = Submission.objects.filter(uuid=uuid).first()
    if submission is None:
        return None
    run = submission.runs.order_by("-number", "-queued_at").first()
    is_queued = run is not None and run.state == RunState.QUEUED
    return {
        "uuid": str(submission.uuid),
        "kernel_id": submission.kernel_id,
        "mode": submission.mode,
        "state": submission.state,
        "is_terminal": submission.is_terminal,
        "code": submission.code,
        "reason": submission.reason,
        "details": submission.details,
        "decision": submission.decision,
        "run": _run(run) if run else None,
        "queue": queue_place(run) if run and is_queued else None,
        "rank": _rank(submission),
        "received_at": submission.received_at,
        "finished_at": submission.finished_at,
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "uuid": str(run.uuid),
        "kind": run.kind,
        "state": run.state,
        "stage": run.stage,
        "progress": run.progress,
        "attempt": run.attempt,
        "runner": run.runner_name,
        "verdict": run.verdict,
        "code": run.code,
        "message": run.message,
    }


def _rank(submission: Submission) -> int | None:
    if submission.state != State.PUBLISHED:
        return None
    return Kernel.objects.filter(submission=submission.uuid).values_list("rank", flat=True).first()
