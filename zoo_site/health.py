"""`GET /api/health`: is the site well, what waits, who runs, does the mirror follow the store."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.models import MirrorState
from runners.models import Runner, RunnerState
from submissions import store
from submissions.kernel_package.errors import ZooError
from submissions.models import Run, RunState
from zoo_site.version import VERSION


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    document = health_document()
    return JsonResponse(document, headers={"Cache-Control": "no-store"})


def health_document() -> dict[str, Any]:
    """Return the health answer; `status` is ok, or degraded with the reasons."""
    head, problems = _store_head()
    mirror = MirrorState.objects.first()
    problems += [f"the mirror stands still: {mirror.error}"] if mirror and mirror.error else []
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
        "queue": _queue_depth(),
        "runners": _runners(),
    }


def _store_head() -> tuple[str, list[str]]:
    try:
        return store.reader().main_head(), []
    except ZooError as error:
        return "", [str(error)]


def _queue_depth() -> dict[str, dict[str, int]]:
    rows = Run.objects.exclude(state=RunState.FINISHED).values("arch", "state").annotate(n=Count("pk"))
    depth: dict[str, dict[str, int]] = {}
    for row in rows.order_by("arch", "state"):
        depth.setdefault(row["arch"], {"queued": 0, "leased": 0})[row["state"]] = row["n"]
    return depth


def _runners() -> dict[str, int]:
    known = Runner.objects.exclude(state=RunnerState.RETIRED)
    alive_since = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS * 2)
    return {"registered": known.count(), "alive": known.filter(last_seen_at__gte=alive_since).count()}
