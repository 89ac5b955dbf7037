"""Renew one lease, and know until when the run may live.

The deadline counts from the *sending* of the last heartbeat that was answered `keep`: the site's own count started
later than that, so the run has stopped before the site can give the lease away.
"""

import logging
from collections.abc import Callable

from runners.daemon.guard import now_seconds
from runners.protocol import Assignment, LeaseLost, Order, Port, Registered, SiteUnreachable

logger = logging.getLogger(__name__)

SAFETY_SECONDS = 5.0
TELL_SECONDS = 2.0

# The reason of an order that asks to forget the run: nobody waits for its result.
LOST = "lost"


class LeaseKeeper:
    """The heartbeat of one lease; call `beat_if_due` often, it sends only when it is time."""

    def __init__(
        self,
        port: Port,
        assignment: Assignment,
        registered: Registered,
        claimed_at: float,
        clock: Callable[[], float] = now_seconds,
    ) -> None:
        self._port = port
        self._lease = assignment.lease
        self._epoch = assignment.epoch
        self._interval = registered.heartbeat_seconds
        # Short leases keep the same proportion.
        lease_seconds = registered.lease_seconds
        self._life = lease_seconds - min(SAFETY_SECONDS, lease_seconds / 12)
        self._clock = clock
        self._next = claimed_at
        self._sent = claimed_at
        self.deadline = claimed_at + self._life

    @property
    def is_over(self) -> bool:
        return self._clock() >= self.deadline

    def seconds_to_next(self) -> float:
        """How long the caller may sleep before the next heartbeat or the end."""
        return max(0.0, min(self._next, self.deadline) - self._clock())

    def hurry(self) -> None:
        """Let the next heartbeat come soon, since there is something to tell; never more often than is useful."""
        self._next = min(self._next, self._sent + min(self._interval, TELL_SECONDS))

    def beat_if_due(self, stage: str, progress: float) -> Order | None:
        """Send a heartbeat if it is time; None where none was due or no answer came."""
        sent = self._clock()
        if sent < self._next:
            return None
        self._sent = sent
        try:
            order = self._port.heartbeat(self._lease, self._epoch, stage, progress)
        except LeaseLost as error:
            logger.warning("the lease is gone: %s", error)
            return Order(keep=False, reason=LOST)
        except SiteUnreachable as error:
            # Sooner again than a full interval: three may be lost, not the lease.
            self._next = self._clock() + self._interval / 3
            logger.warning("no answer to a heartbeat: %s", error)
            return None
        self._next = sent + self._interval
        if order.keep:
            self.deadline = sent + self._life
        return order
