"""Finish or undo what a crash left half done; at start-up, and each minute. Running it twice changes nothing."""

import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError
from django.utils import timezone

from submissions import spool, tasks
from submissions.ending import ledger_records
from submissions.ledger import SUBMISSION
from submissions.lifecycle import mark_ending
from submissions.models import TERMINAL_STATES, Run, RunState, State, Submission, SubmissionQuerySet
from submissions.publish import settle_pending
from submissions.store import reader
from submissions.upload import insert_row, unsaved_row

logger = logging.getLogger(__name__)

# What a task has in hand is younger than this: asking for it again would only be noise.
STUCK_AFTER = timedelta(seconds=45)
# One fault a try, one try a minute: the store or the disk may be away for a while.
MAX_FAULTS = 15
_DRAFT_LIFE_SECONDS = 3600
_ENDED = TERMINAL_STATES | {State.ACCEPTED}

Nudge = Callable[[UUID], None]


@dataclass
class Recovered:
    """What one recovery found, by kind."""

    rows_restored: int = 0
    uploads_discarded: int = 0
    pending_finished: int = 0
    pending_dropped: int = 0
    nudged: int = 0
    given_up: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in asdict(self).items())


def recover(stuck_after: timedelta = STUCK_AFTER) -> Recovered:
    """Look at spool, pending refs and rows, and bring each on its way; `stuck_after` 0 at start-up."""
    found = Recovered()
    _restore_rows(found)
    found.pending_finished, found.pending_dropped = settle_pending()
    _nudge_stuck(found, timezone.now() - stuck_after)
    _drop_drafts()
    if any(asdict(found).values()):
        logger.info("recovery: %s", found)
    return found


def _restore_rows(found: Recovered) -> None:
    known = dict(Submission.objects.filter(pk__in=list(spool.waiting())).values_list("pk", "state"))
    for submission_id in spool.waiting():
        state = known.get(submission_id)
        if state is None:
            _restore_row(submission_id, found)
        elif state in _ENDED:
            spool.discard(submission_id)
            found.uploads_discarded += 1


def _restore_row(submission_id: UUID, found: Recovered) -> None:
    meta = spool.meta(submission_id)
    if SUBMISSION in ledger_records(reader(), unsaved_row(submission_id, meta)):
        # It ended, and the database was lost since: the mirror brings the row back from the ledger.
        spool.discard(submission_id)
        found.uploads_discarded += 1
        return
    try:
        insert_row(submission_id, meta)
        found.rows_restored += 1
    except IntegrityError:
        # The upload itself is writing it now; or it lost to another with its key and never got an answer.
        if not Submission.objects.filter(pk=submission_id).exists():
            spool.discard(submission_id)
            found.uploads_discarded += 1


def _nudge_stuck(found: Recovered, before: datetime) -> None:
    ways: tuple[tuple[SubmissionQuerySet, Nudge], ...] = (
        (Submission.objects.in_state(State.RECEIVED), tasks.enqueue_validate),
        (Submission.objects.in_state(State.VALIDATED), tasks.enqueue_validate),
        (Submission.objects.in_state(State.MEASURED), tasks.enqueue_publish),
    )
    for stuck, nudge in ways:
        for submission in stuck.unmoved_since(before):
            if not _given_up(submission, found):
                nudge(submission.pk)
                found.nudged += 1
    # A decided end is never given up: its record must reach the ledger, however long the store is away.
    for submission in Submission.objects.ending().unmoved_since(before):
        tasks.enqueue_conclude(submission.pk)
        found.nudged += 1
    for run in Run.objects.filter(submission=None, state=RunState.FINISHED, is_in_ledger=False):
        tasks.enqueue_run_record(run.pk)
        found.nudged += 1


def _given_up(submission: Submission, found: Recovered) -> bool:
    if submission.events.filter(kind=tasks.FAULT).count() < MAX_FAULTS:
        return False
    reason = f"the site failed {MAX_FAULTS} times at this step; you lose nothing, send it again"
    if mark_ending(
        submission.pk, State(submission.state), State.ERRORED, code="internal:step-failed", reason=reason
    ):
        tasks.enqueue_conclude(submission.pk)
        found.given_up += 1
    return True


def _drop_drafts() -> None:
    for draft in spool.drafts():
        if time.time() - draft.stat().st_mtime > _DRAFT_LIFE_SECONDS:
            shutil.rmtree(draft, ignore_errors=True)
