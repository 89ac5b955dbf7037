"""One process follows the store at a time; the others wait for their turn."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from submissions.kernel_package.errors import Broken

WAIT_SECONDS = 120.0
_LOOK_SECONDS = 0.02

# Any fixed number: it only must not be used for another lock in the same database.
_ADVISORY_KEY = 0x6B7A6D72


@contextmanager
def mirror_lock(wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock, or raise Broken `mirror:busy`. A file lock on one machine, the database's across several."""
    settings.RUN_DIR.mkdir(parents=True, exist_ok=True)
    with (settings.RUN_DIR / "mirror.lock").open("a") as file:
        _wait_for_file(file.fileno(), wait_seconds)
        with _database_lock():
            yield


def _wait_for_file(descriptor: int, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Broken("mirror:busy", "another process has been following the store for long") from None
            time.sleep(_LOOK_SECONDS)
        else:
            return


@contextmanager
def _database_lock() -> Iterator[None]:
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_ADVISORY_KEY])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_ADVISORY_KEY])
