"""Which processes the site consists of, and how each one's health is judged."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from runners.models import Runner
from zoo_site import env
from zoo_site.supervisor import Service
from zoo_site.tasks import heartbeat_file

CLUSTERS = ("default", "cpu", "gpu")
BEAT_EVERY_SECONDS = 15.0
STUCK_AFTER_SECONDS = 75.0


def services() -> list[Service]:
    """Return the web process and the three task clusters."""
    return [_web()] + [_cluster(name) for name in CLUSTERS]


def _web() -> Service:
    argv = (
        sys.executable, "-m", "daphne",
        "-b", settings.HOST, "-p", str(settings.PORT),
        "--no-server-name", "--verbosity", "0", "--application-close-timeout", "2",
        "zoo_site.asgi:application",
    )  # fmt: skip
    return Service("web", argv, env.child_environment())


def _cluster(name: str) -> Service:
    argv = (sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster")
    return Service(name, argv, env.child_environment(Q_CLUSTER_NAME=name), _stuck_judge(name), is_pool=True)


def _stuck_judge(cluster: str) -> Callable[[float], bool]:
    def is_stuck(started: float) -> bool:
        # A long run keeps its cluster's one worker from consuming beats: its runner is seen instead.
        last = max(started, _touched(heartbeat_file(cluster)), _runner_seen(cluster))
        return time.time() - last > STUCK_AFTER_SECONDS

    return is_stuck


def _touched(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _runner_seen(kind: str) -> float:
    seen = (
        Runner.objects.filter(kind=kind).order_by("-last_seen_at").values_list("last_seen_at", flat=True).first()
    )
    return seen.timestamp() if seen else 0.0
