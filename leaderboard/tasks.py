"""django-q2's entry point of this app: follow the store. The only file here that knows the queue."""

import logging

from django_q.tasks import async_task

from submissions.kernel_package.errors import ZooError

logger = logging.getLogger(__name__)

CLUSTER = "default"


def enqueue_follow() -> None:
    """Ask a worker to bring the mirror to head; never raises, the minute schedule asks again."""
    try:
        async_task("leaderboard.tasks.follow", cluster=CLUSTER)
    except Exception:
        logger.warning("could not queue following the store; the schedule will", exc_info=True)


def follow() -> None:
    """Bring the mirror to head; a broken push is logged and shown by the mirror itself, and tried again later."""
    from leaderboard import mirror

    try:
        mirror.bring_to_head()
    except ZooError as error:
        logger.warning("the store was not followed: %s", error)
