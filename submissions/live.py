"""Tell open pages that something changed: a hint only, the rows and their Events are the truth."""

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

QUEUE = "queue"
RUNNERS = "runners"
BOARDS = "boards"


def announce(topic: str) -> None:
    """Wake the readers of a topic; never raises, since a lost hint costs a poll and nothing more."""
    try:
        layer = get_channel_layer()
        if layer is not None:
            async_to_sync(layer.group_send)(topic, {"type": "changed", "topic": topic})
    except Exception:
        logger.warning("could not announce %s", topic, exc_info=True)
