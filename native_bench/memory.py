"""Memory shared with other processes: sealed in size, named by nothing but a descriptor."""

import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

_PAGE = mmap.PAGESIZE


@contextmanager
def sealed_content(name: str, content: bytes) -> Iterator[int]:
    """Yield a descriptor that reads as `content`, which nobody can change and which never was on a disk."""
    descriptor = os.memfd_create(f"zoo-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        fcntl.fcntl(
            descriptor,
            fcntl.F_ADD_SEALS,
            fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL,
        )
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


class SharedMemory:
    """A memfd and our own mapping of it.

    The size is sealed: a worker that could shrink it would kill the timer with SIGBUS.
    """

    def __init__(self, name: str, size: int) -> None:
        self.size = max(_PAGE, (size + _PAGE - 1) // _PAGE * _PAGE)
        self.fd = os.memfd_create(f"zoo-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self.map = mmap.mmap(self.fd, self.size)
        self.read_only_fd = os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The memory as bytes; a view that must be gone before `close`."""
        return np.frombuffer(self.map, np.uint8)

    def array(self, dtype: str, offset: int, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.map, dtype, count, offset)

    def close(self) -> None:
        os.close(self.fd)
        os.close(self.read_only_fd)
        try:
            self.map.close()
        except BufferError:
            # A numpy view is still alive somewhere: the mapping goes with it.
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
