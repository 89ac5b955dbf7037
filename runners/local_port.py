"""The daemon's Port on the site's own machine: direct calls instead of HTTP, the same rules."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError

from runners import delivery, leases, packages, registration
from runners.assignments import next_assignment
from runners.protocol import Assignment, Order, Registered, Registration, Result, SiteUnreachable
from submissions.kernel_package.errors import Broken


@contextmanager
def _reachable() -> Iterator[None]:
    # A database that is locked, or a store that is broken, is to a local runner what a lost connection is to a
    # remote one: the call may do better later.
    try:
        yield
    except (OperationalError, InterfaceError, Broken) as error:
        raise SiteUnreachable(str(error)) from error


class LocalPort:
    """One local runner's way to the site; it must register before it claims."""

    def __init__(self) -> None:
        self._runner_id = 0

    def register(self, registering: Registration) -> Registered:
        with _reachable():
            registered = registration.register(registering)
        self._runner_id = registered.runner_id
        return registered

    def claim(self, wait_seconds: float) -> Assignment | None:
        """Answer at once: an idle local runner ends, and the next queued run starts it again."""
        with _reachable():
            registration.seen(self._runner_id)
            return next_assignment(self._runner_id)

    def package(self, digest: str) -> bytes:
        return packages.read(digest)

    def heartbeat(self, lease: str, epoch: int, stage: str, progress: float) -> Order:
        with _reachable():
            return leases.heartbeat(lease, epoch, stage, progress)

    def stage(self, lease: str, epoch: int, stage: str) -> None:
        with _reachable():
            leases.enter_stage(lease, epoch, stage)

    def log(self, lease: str, epoch: int, sequence: int, text: str) -> None:
        with _reachable():
            leases.add_log(lease, epoch, sequence, text)

    def result(self, lease: str, epoch: int, result: Result) -> None:
        with _reachable():
            delivery.deliver(lease, epoch, result)
