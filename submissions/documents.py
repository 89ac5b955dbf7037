"""A submission and its runs as the API shows them: nothing here names a secret or a hidden size."""

from typing import Any

from submissions.evaluation.records import timestamp
from submissions.models import Run, Submission


def submission_document(submission: Submission) -> dict[str, Any]:
    """Return a submission as JSON data; its runs from the prefetched rows."""
    return {
        "uuid": str(submission.pk),
        "kernel_id": submission.kernel_id,
        "submitter": submission.submitter,
        "submitter_is_verified": submission.submitter_is_verified,
        "mode": submission.mode,
        "message": submission.message,
        "state": submission.state,
        "is_terminal": submission.is_terminal,
        "code": submission.code,
        "reason": submission.reason,
        "details": submission.details,
        "decision": submission.decision,
        "package_sha256": submission.package_sha256,
        "package_bytes": submission.package_bytes,
        "tree_digest": submission.tree_digest or None,
        "received_at": timestamp(submission.received_at),
        "finished_at": timestamp(submission.finished_at) if submission.finished_at else None,
        "runs": [run_summary(run) for run in submission.runs.all()],
        **links(submission),
    }


def links(submission: Submission) -> dict[str, str]:
    """Return where a submission can be followed."""
    return {
        "url": f"/api/submissions/{submission.pk}",
        "status_url": f"/api/submissions/{submission.pk}/status",
        "page_url": submission.get_absolute_url(),
    }


def run_summary(run: Run) -> dict[str, Any]:
    """Return one line on a run; `/api/runs/<uuid>` has the record."""
    return {
        "uuid": str(run.pk),
        "number": run.number,
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
