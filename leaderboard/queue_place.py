"""Where a waiting run stands in its arch's queue, and about when its turn comes."""

from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from django.db.models import Q

from submissions.models import Run, RunState

# The estimate follows what this queue did lately; one slow run must not set it.
RUNS_LOOKED_AT = 20


@dataclass(frozen=True)
class QueuePlace:
    """Position 1 is next; `eta_seconds` until its start is None while nothing on this arch has finished yet."""

    arch: str
    position: int
    waiting: int
    running: int
    eta_seconds: float | None


def queue_place(run: Run) -> QueuePlace:
    """Return the place of a queued run. Three queries."""
    waiting = Run.objects.queued().for_archs([run.arch])
    ahead = waiting.filter(
        Q(priority__gt=run.priority)
        | Q(priority=run.priority, queued_at__lt=run.queued_at)
        | Q(priority=run.priority, queued_at=run.queued_at, uuid__lt=run.uuid)
    ).count()
    running = set(Run.objects.leased().for_archs([run.arch]).values_list("runner_name", flat=True))
    return QueuePlace(
        arch=run.arch,
        position=ahead + 1,
        waiting=waiting.count(),
        running=len(running),
        eta_seconds=_seconds_until_turn(run.arch, ahead, len(running)),
    )


def _seconds_until_turn(arch: str, ahead: int, running: int) -> float | None:
    """Return runs ahead times their median duration, over the runners that are on; leased ones are half done."""
    finished = (
        Run.objects.filter(arch=arch, state=RunState.FINISHED, started_at__isnull=False, finished_at__isnull=False)
        .order_by("-finished_at")
        .values_list("started_at", "finished_at")[:RUNS_LOOKED_AT]
    )
    durations = [(end - start) / timedelta(seconds=1) for start, end in finished if start and end]
    if not durations:
        return None
    runners = max(running, 1)
    return round(median(durations) * (ahead + running / 2) / runners, 1)
