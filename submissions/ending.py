"""Bring a decided end into the ledger, then enter it. What the ledger already says wins over the row."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from submissions import spool
from submissions.evaluation.records import parse_timestamp
from submissions.kernel_store.reading import StoreReader
from submissions.ledger import DECISION, SUBMISSION, ending_entry, run_entry
from submissions.lifecycle import enter_recorded
from submissions.models import Run, RunState, State, Submission
from submissions.signals import store_advanced
from submissions.store import reader, writer


def conclude(submission_id: UUID) -> None:
    """Write the end of a submission into the ledger, then take the state. Idempotent."""
    submission = Submission.objects.ending().filter(pk=submission_id).first()
    if submission is None or follow_ledger(submission):
        return
    writer().record(ending_entry(submission))
    enter(submission.pk, State(submission.ending))


def follow_ledger(submission: Submission) -> bool:
    """Take the end that the ledger has of an open submission; False where it has none.

    A crash may lie between the ledger's commit and the row, and others have read the ledger since.
    """
    entry = ledger_records(reader(), submission)
    if SUBMISSION not in entry:
        return False
    record = json.loads(entry[SUBMISSION])
    told = {"code": record["code"], "reason": record["reason"], "details": record["details"]}
    if DECISION in entry:
        told["decision"] = json.loads(entry[DECISION])
    enter(submission.pk, State(record["state"]), finished_at=parse_timestamp(record["finished_at"]), **told)
    return True


def ledger_records(store: StoreReader, submission: Submission) -> Mapping[str, bytes]:
    """Return the records that the ledger has of a submission, by name; empty where it has none."""
    return store.ledger_entry(submission.received_at, str(submission.pk))


def enter(submission_id: UUID, state: State, **told: Any) -> None:
    """Take a state that the ledger has, let go of the upload, and have the mirror follow."""
    if enter_recorded(submission_id, state, **told):
        spool.discard(submission_id)
        store_advanced.send_robust(sender=Submission)


def record_run(run_id: UUID) -> None:
    """Write a finished run that belongs to no submission into the ledger. Idempotent."""
    alone = Run.objects.filter(pk=run_id, submission=None, state=RunState.FINISHED, is_in_ledger=False)
    run = alone.first()
    if run is None:
        return
    if run.record is not None:
        writer().record(run_entry(run))
        store_advanced.send_robust(sender=Run)
    alone.update(is_in_ledger=True)
