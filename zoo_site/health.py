"""`GET /api/health`: is the site well, what waits, who runs, does the mirror follow the store."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Min
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from leaderboard.models import MirrorState
from runners.models import Runner
from submissions import store
from submissions.kernel_package.errors import ZooError
from submissions.models import Run, RunState
from zoo_site.queue_health import QueuePart, queue_problems
from zoo_site.version import VERSION


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    document = health_document()
    return JsonResponse(document, headers={"Cache-Control": "no-store"})


def health_document() -> dict[str, Any]:
    """Return the health answer, from three queries; `status` is ok, or degraded with the reasons."""
    head, problems = _store_head()
    mirror = MirrorState.objects.first()
    problems += [f"the mirror stands still: {mirror.error}"] if mirror and mirror.error else []
    parts = _queue_parts()
    runners = list(Runner.objects.not_retired())
    problems += queue_problems(parts, runners)
    return {
        "status": "degraded" if problems else "ok",
        "problems": problems,
        "version": VERSION,
        "store_head": head,
        "mirror": {
            "head": mirror.head if mirror else "",
            "is_current": bool(mirror and mirror.head == head),
            "followed_at": mirror.followed_at if mirror else None,
        },
        "queue": _queue_depth(parts),
        "runners": {"registered": len(runners), "alive": sum(runner.is_alive for runner in runners)},
    }


def _store_head() -> tuple[str, list[str]]:
    try:
        return store.reader().main_head(), []
    except ZooError as error:
        return "", [str(error)]


def _queue_parts() -> list[QueuePart]:
    runs = (
        Run.objects.exclude(state=RunState.FINISHED)
        .values("arch", "kind", "state")
        .order_by("arch", "kind", "state")
    )
    counted = runs.annotate(runs=Count("pk"), oldest=Min("queued_at"))
    return [QueuePart(*row) for row in counted.values_list("arch", "kind", "state", "runs", "oldest")]


def _queue_depth(parts: Sequence[QueuePart]) -> dict[str, dict[str, int]]:
    depth: dict[str, dict[str, int]] = {}
    for part in parts:
        depth.setdefault(part.arch, {"queued": 0, "leased": 0})[part.state] += part.runs
    return depth
