"""The minute schedule behind every hint, and the beats that show whether a cluster takes tasks."""

from pathlib import Path

from django.conf import settings
from django_q.models import OrmQ, Schedule
from django_q.tasks import async_task

# What a lost nudge costs is at most a minute.
EACH_MINUTE = (
    "runners.tasks.expire_leases",
    "submissions.tasks.recover",
    "runners.tasks.nudge_queues",
    "leaderboard.tasks.follow",
)


def ensure_schedules() -> None:
    """Have each minute's tasks scheduled, once each."""
    for function in EACH_MINUTE:
        Schedule.objects.update_or_create(
            name=function,
            defaults={"func": function, "schedule_type": Schedule.MINUTES, "minutes": 1, "repeats": -1},
        )
    Schedule.objects.exclude(name__in=EACH_MINUTE).filter(name__contains=".tasks.").delete()


def heartbeat_file(cluster: str) -> Path:
    """Return the file a cluster touches each time it consumes a beat."""
    return Path(settings.RUN_DIR) / f"heartbeat-{cluster}"


def beat(cluster: str) -> None:
    """Say that a worker of this cluster takes tasks."""
    heartbeat_file(cluster).touch()


def send_beat(cluster: str) -> None:
    """Queue a beat, unless the cluster's queue already shows that nothing is taken."""
    if OrmQ.objects.filter(key=cluster).count() < 1000:
        async_task(beat, cluster, cluster=cluster)
