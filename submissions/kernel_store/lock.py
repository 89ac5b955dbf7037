"""The writer lock: one writing process at a time; the refs' compare-and-swap stands behind it."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from submissions.kernel_package.errors import Broken

LOCK_FILE = "zoo-writer.lock"
_POLL_SECONDS = 0.005


class WriterLock:
    """A flock on a file of the repository; reentrant within a thread, released when its holder dies."""

    def __init__(self, git_dir: Path, timeout_seconds: float = 30.0) -> None:
        self._path = git_dir / LOCK_FILE
        self._timeout_seconds = timeout_seconds
        self._held = threading.local()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block; raises Broken `store:busy` when another writer keeps it too long."""
        depth = getattr(self._held, "depth", 0)
        if depth:
            self._held.depth = depth + 1
            try:
                yield
            finally:
                self._held.depth = depth
            return
        descriptor = self._acquire()
        self._held.depth = 1
        try:
            yield
        finally:
            self._held.depth = 0
            os.close(descriptor)

    def _acquire(self) -> int:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(descriptor)
                    raise Broken(
                        "store:busy",
                        f"another writer has held {LOCK_FILE} for {self._timeout_seconds:g} s; try again",
                    ) from None
                time.sleep(_POLL_SECONDS)
