"""The live socket: forwards that a topic changed; what changed is fetched through the ordinary views."""

import re
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncJsonWebsocketConsumer

_TOPIC = re.compile(r"queue|runners|boards|submission\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST_TOPICS = 8
BAD_TOPICS = 4400


def topics_in(query_string: bytes) -> list[str] | None:
    """Read `topics=queue,boards`; None where one is unknown or there are too many."""
    given = parse_qs(query_string.decode("latin-1")).get("topics", [""])[0]
    topics = sorted({topic for topic in given.split(",") if topic})
    known = all(_TOPIC.fullmatch(topic) for topic in topics)
    return topics if topics and known and len(topics) <= _MOST_TOPICS else None


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """One browser's page. It only listens: whatever the browser sends is ignored."""

    joined: tuple[str, ...] = ()

    async def connect(self) -> None:
        topics = topics_in(self.scope["query_string"])
        await self.accept()
        if topics is None:
            await self.close(code=BAD_TOPICS)
            return
        for topic in topics:
            await self.channel_layer.group_add(topic, self.channel_name)
        self.joined = tuple(topics)
        await self.send_json({"listening": topics})

    async def receive(self, *_args: Any, **_kwargs: Any) -> None:
        return

    async def changed(self, event: dict[str, Any]) -> None:
        await self.send_json({"changed": event["topic"]})

    async def disconnect(self, _code: int) -> None:
        for topic in self.joined:
            await self.channel_layer.group_discard(topic, self.channel_name)
