"""What this app does when a run was queued: wake the queue that fits."""

from typing import Any

from runners.capabilities import runner_kind


def wake_queue(sender: Any, arch: str, kind: str, **_: Any) -> None:
    """Nudge the local queue for the run's arch."""
    from runners.tasks import nudge

    nudge(runner_kind(kind, arch))
