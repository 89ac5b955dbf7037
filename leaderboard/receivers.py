"""What this app does on hints from the walk."""

from typing import Any

from django.dispatch import receiver

from leaderboard.tasks import enqueue_follow
from submissions.signals import store_advanced


@receiver(store_advanced, dispatch_uid="leaderboard.follow_store")
def follow_store(**_: Any) -> None:
    enqueue_follow()
