"""One watch per process over new Event rows: however many readers wait, the database is asked once per look."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db import close_old_connections

from submissions.models import Event

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

LOOK_SECONDS = 0.25

# With several writers an event can become visible after a later one: each look goes back this many ids.
LOOK_BACK_IDS = 64

# One thread and one connection for all waits; a thread for each would be one connection for each.
_reading_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="event-watch")


async def read(query: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a query on the thread that all waits share."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_reading_thread, partial(_with_fresh_connection, query, *args, **kwargs))


def _with_fresh_connection(query: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    try:
        return query(*args, **kwargs)
    finally:
        close_old_connections()


class EventWatch:
    """Wakes the waits on a submission when an event of it appears; looks only while somebody waits."""

    def __init__(self) -> None:
        self._waits: dict[UUID, set[asyncio.Event]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None
        self._newest = 0
        self._seen: set[int] = set()

    @contextmanager
    def wait_on(self, uuid: UUID) -> Iterator[asyncio.Event]:
        """Give an asyncio.Event that is set at the next change; enter it before reading what may change."""
        wake = asyncio.Event()
        self._waits[uuid].add(wake)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_while_waited_on())
        try:
            yield wake
        finally:
            self._waits[uuid].discard(wake)
            if not self._waits[uuid]:
                del self._waits[uuid]

    async def _look_while_waited_on(self) -> None:
        # Nobody looked since the last wait ended: what happened meanwhile is in what each wait reads first.
        self._seen, self._newest = set(), 0
        while self._waits:
            await self._look_once(partial(read, self._new_events))
            await asyncio.sleep(LOOK_SECONDS)

    async def _look_once(self, events: Callable[[], Awaitable[list[tuple[int, UUID | None]]]]) -> None:
        try:
            found = await events()
        except Exception:
            logger.warning("could not look for new events; the next look tries again", exc_info=True)
            return
        fresh = {submission for event, submission in found if event not in self._seen}
        self._seen = {event for event, _ in found}
        self._newest = max(self._seen, default=self._newest)
        for uuid, wakes in self._waits.items():
            for wake in wakes if uuid in fresh else ():
                wake.set()

    def _new_events(self) -> list[tuple[int, UUID | None]]:
        if not self._newest:
            newest = Event.objects.order_by("-id").values_list("id", flat=True).first()
            self._newest = newest or 0
        found = Event.objects.filter(id__gt=self._newest - LOOK_BACK_IDS).order_by("id")
        return list(found.values_list("id", "submission_id"))
