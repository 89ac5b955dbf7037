"""django-q2's entry points: each takes an id, may run twice, and is found again by recovery if it never runs.

The only file of this app that knows the queue. An `enqueue_…` never raises: a lost nudge is made up for by
`recover`, which the schedule starts each minute.
"""

import logging
from collections.abc import Callable
from uuid import UUID

from django_q.tasks import async_task

from submissions.lifecycle import note

logger = logging.getLogger(__name__)

CLUSTER = "default"

# The kind of Event that counts a failed try of a step; recovery gives a submission up after too many.
FAULT = "fault"


def enqueue_validate(submission_id: UUID) -> None:
    """Ask a worker for step 2 of a submission."""
    _enqueue("validate", submission_id)


def enqueue_publish(submission_id: UUID) -> None:
    """Ask a worker for steps 9 to 11 of a submission."""
    _enqueue("publish", submission_id)


def enqueue_conclude(submission_id: UUID) -> None:
    """Ask a worker to write a decided end into the ledger."""
    _enqueue("conclude", submission_id)


def enqueue_run_record(run_id: UUID) -> None:
    """Ask a worker to write a run that belongs to no submission into the ledger."""
    _enqueue("record_run", run_id)


def validate(submission_id: str) -> None:
    """Run step 2, and queue the run it leads to."""
    from submissions import validation

    _try_step(validation.validate, UUID(submission_id))


def publish(submission_id: str) -> None:
    """Run steps 9 to 11."""
    from submissions import publish as publishing

    _try_step(publishing.publish, UUID(submission_id))


def conclude(submission_id: str) -> None:
    """Write a decided end into the ledger and enter it."""
    from submissions import ending

    _try_step(ending.conclude, UUID(submission_id))


def record_run(run_id: str) -> None:
    """Write a run that belongs to no submission into the ledger."""
    from submissions import ending

    ending.record_run(UUID(run_id))


def recover() -> None:
    """Find what a crash or a lost nudge left half done; each minute and at start-up."""
    from submissions import recovery

    recovery.recover()


def _try_step(step: Callable[[UUID], None], submission_id: UUID) -> None:
    try:
        step(submission_id)
    except Exception:
        logger.exception("%s of %s failed; recovery tries again", step.__name__, submission_id)
        note(submission_id, FAULT, f"the site failed at {step.__name__}; it tries again by itself")


def _enqueue(name: str, subject: UUID) -> None:
    try:
        async_task(f"submissions.tasks.{name}", str(subject), cluster=CLUSTER)
    except Exception:
        logger.warning("could not queue %s for %s; recovery will", name, subject, exc_info=True)
