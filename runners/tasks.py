"""django-q2's entry points: drive the local runners, sweep leases. The only file of this app that knows the queue.

A nudge is a hint: the minute schedule finds what a lost one would have told.
"""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from django_q.tasks import async_task

from runners import leases, local
from runners.capabilities import CPU, GPU
from runners.daemon import drive
from runners.local_port import LocalPort

logger = logging.getLogger(__name__)


def drive_local(kind: str) -> int:
    """Run what is queued for the local runner of a kind, then end; return how many runs there were."""
    with local.sole_driver(kind) as lock, _stop_on_sigterm() as stop:
        if lock is None:
            logger.warning("the local %s runner is being driven already", kind)
            return 0
        registration = local.registration(kind)
        if registration is None:
            return 0
        return drive(LocalPort(), registration, local.config(kind, (lock,)), stop.is_set)


def nudge(kind: str) -> None:
    """Have the queue of a runner kind looked at, by the cluster of that name; never raises."""
    try:
        async_task("runners.tasks.drive_local", kind, cluster=kind)
    except Exception:
        logger.warning("could not nudge the %s queue; the schedule will", kind, exc_info=True)


def nudge_queues() -> None:
    """Look at every local queue; each minute, which also shows that idle runners are there."""
    for kind in (CPU, GPU) if local.has_gpu() else (CPU,):
        nudge(kind)


def expire_leases() -> int:
    """End overdue leases; each minute."""
    return leases.expire()


@contextmanager
def _stop_on_sigterm() -> Iterator[threading.Event]:
    """Let SIGTERM end the drive in order, so that its run goes back at once; then it ends the process as ever."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        stop.set()

    before: Any = signal.signal(signal.SIGTERM, ask_to_stop)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)
        if stop.is_set():
            os.kill(os.getpid(), signal.SIGTERM)
