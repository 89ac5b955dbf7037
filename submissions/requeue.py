"""Staff's way to have something measured again: anew where it is open, as a new submission where it ended."""

from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from submissions import tasks
from submissions.authentication import Submitter
from submissions.board import board_of
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.errors import Rejected
from submissions.lifecycle import advance_state, mark_ending
from submissions.models import Run, RunState, State, Submission
from submissions.scheduling import schedule_run, tell_queued
from submissions.store import reader
from submissions.upload import Upload, receive_upload


def requeue_submission(submission_id: UUID) -> Submission:
    """Have a submission measured again and return the one that is under way now.

    A final state never changes: what ended is sent again as a new submission. Raises Rejected
    `missing:submission`, `state:under-way`, or `state:no-source` where its package was not kept.
    """
    submission = Submission.objects.filter(pk=submission_id).first()
    if submission is None:
        raise Rejected("missing:submission", f"there is no submission {submission_id}")
    if submission.is_terminal or submission.state == State.ACCEPTED:
        return _send_again(submission)
    state = State(submission.state)
    if submission.ending or state not in (State.MEASURED, State.HELD):
        raise Rejected("state:under-way", f"it is {state} already: wait, or cancel it", state=state)
    version = board_of(reader(), submission.kernel_id).problem().problem.version
    if schedule_run(submission, version, state) is None:
        raise Rejected("state:under-way", "it moved on meanwhile: look again")
    submission.refresh_from_db()
    return submission


def release_held(submission_id: UUID) -> None:
    """Let a held submission go on to its decision: staff found its integrity finding harmless."""
    with transaction.atomic():
        if not advance_state(submission_id, State.HELD, State.MEASURED, is_hold_released=True):
            raise Rejected("state:not-held", "only a held submission can be released")
        transaction.on_commit(partial(tasks.enqueue_publish, submission_id))


def refuse_held(submission_id: UUID) -> None:
    """End a held submission as failed: staff found that its figures are not earned."""
    with transaction.atomic():
        if not mark_ending(submission_id, State.HELD, State.FAILED):
            raise Rejected("state:not-held", "only a held submission can be refused")
        transaction.on_commit(partial(tasks.enqueue_conclude, submission_id))


def requeue_run(run_id: UUID) -> Run:
    """Have what a run was about run again, and return the run that waits now. Raises as `requeue_submission`."""
    run = Run.objects.select_related("submission").filter(pk=run_id).first()
    if run is None:
        raise Rejected("missing:run", f"there is no run {run_id}")
    if run.submission is not None:
        again = requeue_submission(run.submission.pk)
        return again.runs.order_by("-number").first() or run
    if run.state != RunState.FINISHED:
        raise Rejected("state:under-way", f"it is {run.state} already: wait, or cancel it", state=run.state)
    with transaction.atomic():
        again_alone = Run.objects.create(
            kind=run.kind,
            kernel_id=run.kernel_id,
            arch=run.arch,
            problem_version=run.problem_version,
            priority=run.priority,
            queued_at=timezone.now(),
        )
        tell_queued(again_alone)
    return again_alone


def _send_again(submission: Submission) -> Submission:
    files = reader().ledger_source(submission.received_at, str(submission.pk))
    if not files:
        message = "its package was not kept (a rejected upload's never is): the entrant must send it again"
        raise Rejected("state:no-source", message)
    submitter = Submitter(submission.submitter, submission.submitter_is_verified)
    again = Upload(
        kernel_id=submission.kernel_id,
        package=write_archive(files),
        mode=submission.mode,
        message=f"requeued from {submission.pk}",
        # The same click twice, or by two people, sends it once.
        idempotency_key=f"requeue:{submission.pk}",
    )
    return receive_upload(submitter, again)
