"""Step 2: look at a package as data. Valid and new: on to the queue; else it ends here, with the reason."""

from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from submissions import spool, tasks
from submissions.board import board_of
from submissions.evaluation.decision import before_any_run
from submissions.kernel_package.errors import Broken, Rejected
from submissions.ledger import decision_record_of
from submissions.lifecycle import advance_state, mark_ending
from submissions.models import Mode, State, Submission
from submissions.scheduling import schedule_run
from submissions.store import reader


def validate(submission_id: UUID) -> None:
    """Validate a received submission and queue its run; resumes where the run was not queued. Idempotent."""
    submission = Submission.objects.filter(pk=submission_id, ending="").first()
    if submission is None or submission.state not in (State.RECEIVED, State.VALIDATED):
        return
    try:
        _validate(submission)
    except Rejected as error:
        _end(submission, State.REJECTED, code=error.code, reason=error.message, details=dict(error.details))
    except Broken as error:
        if error.code != "spool:missing":
            raise
        _end(submission, State.ERRORED, code=error.code, reason=error.message)


def _validate(submission: Submission) -> None:
    board = board_of(reader(), submission.kernel_id)
    digest = board.complete(spool.package_bytes(submission.pk)).digest
    early = before_any_run(digest, board.rival()) if submission.mode == Mode.RANKED else None
    if early is not None:
        record = decision_record_of(submission, None, early, board.rival(), timezone.now())
        told = {"code": early.code, "reason": early.message, "decision": record}
        _end(submission, State.DECLINED, tree_digest=digest, **told)
        return
    if submission.state == State.RECEIVED:
        advance_state(submission.pk, State.RECEIVED, State.VALIDATED, tree_digest=digest)
    schedule_run(submission, board.problem().problem.version, State.VALIDATED)


def _end(submission: Submission, ending: State, **why: Any) -> None:
    with transaction.atomic():
        if mark_ending(submission.pk, (State.RECEIVED, State.VALIDATED), ending, **why):
            transaction.on_commit(partial(tasks.enqueue_conclude, submission.pk))
