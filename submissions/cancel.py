"""Cancel: at once while nothing runs; by the next heartbeat while a runner is at it; not after."""

from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from submissions import tasks
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.errors import Rejected
from submissions.lifecycle import mark_ending, note
from submissions.live import QUEUE, announce
from submissions.models import Run, RunQuerySet, RunState, State, Submission

_NOT_RUNNING = (State.RECEIVED, State.VALIDATED, State.QUEUED)

CANCELLABLE_STATES = frozenset({*_NOT_RUNNING, State.RUNNING})


def request_cancel(submission_id: UUID, actor: str) -> None:
    """Cancel a submission that waits, or ask its runner to stop; asking twice changes nothing.

    Raises Rejected `missing:submission`, or `state:not-cancellable` once it is measured or has ended.
    """
    with transaction.atomic():
        submission = Submission.objects.filter(pk=submission_id).first()
        if submission is None:
            raise Rejected("missing:submission", f"there is no submission {submission_id}")
        if State.CANCELLED in (submission.state, submission.ending):
            return
        if not (_cancel_waiting(submission, actor) or _ask_runner(submission, actor)):
            raise Rejected(
                "state:not-cancellable",
                f"a submission can be cancelled while it waits or runs; this one is {submission.state}",
                state=submission.state,
            )


def cancel_run(run_id: UUID, actor: str) -> None:
    """Cancel a run: with its submission where it has one. Raises as `request_cancel` does."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise Rejected("missing:run", f"there is no run {run_id}")
    if run.submission_id is not None:
        request_cancel(run.submission_id, actor)
        return
    with transaction.atomic():
        alone = Run.objects.filter(pk=run_id)
        if not (_end_queued(alone) or alone.leased().update(is_cancel_requested=True)):
            raise Rejected("state:not-cancellable", "this run has ended", state=run.state)
        transaction.on_commit(partial(announce, QUEUE))


def _cancel_waiting(submission: Submission, actor: str) -> bool:
    # The run first, then the submission, as a claim does: two that meet take turns and never deadlock.
    _end_queued(Run.objects.filter(submission=submission))
    why = {"code": "submission:cancelled", "reason": f"cancelled by {actor} before it ran"}
    if not mark_ending(submission.pk, _NOT_RUNNING, State.CANCELLED, **why):
        return False
    transaction.on_commit(partial(tasks.enqueue_conclude, submission.pk))
    return True


def _end_queued(runs: RunQuerySet) -> int:
    return runs.filter(state=RunState.QUEUED).update(
        state=RunState.FINISHED,
        verdict=Verdict.CANCELLED,
        code="run:cancelled",
        message="cancelled before it ran",
        finished_at=timezone.now(),
    )


def _ask_runner(submission: Submission, actor: str) -> bool:
    if submission.state != State.RUNNING or not submission.runs.filter(state=RunState.LEASED).update(
        is_cancel_requested=True
    ):
        return False
    note(submission.pk, "cancel", f"{actor} asked to cancel; the runner stops at its next heartbeat")
    return True
