"""Device memory: buffers in one arena, each in an address range of its own, far from all others.

A buffer's address tells which buffer it is, so that an index wrong by a whole array is still found: the ranges are
64 GiB apart and a buffer stands in the middle of its own. Nothing else of the arena can be reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.faults import Fault, FaultKind, LaunchFault
from native_bench.gpu.emulator.value_types import Array

RANGE_BITS = 36
_RANGE_START = 1 << (RANGE_BITS - 1)
_RANGE_MASK = np.uint64((1 << RANGE_BITS) - 1)
# The first ranges stand for no memory (null), shared memory and local memory.
SHARED_RANGE, LOCAL_RANGE, FIRST_BUFFER_RANGE = 1, 2, 16
_LAST_RANGE = 1 << 20
_ALIGN = 256
DEFAULT_MEMORY_BYTES = 1 << 30
POISON = 0xFF


@dataclass(frozen=True)
class Buffer:
    """A piece of device memory; `address` is what a kernel is given."""

    name: str
    nbytes: int
    is_read_only: bool
    range_number: int
    start: int

    @property
    def address(self) -> int:
        """Return its generic address."""
        return (self.range_number << RANGE_BITS) + _RANGE_START


class DeviceMemory:
    """What a device holds: the buffers that launches read and write, module variables included."""

    def __init__(self, budget_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._used = 0
        self._arena: NDArray[np.uint8] = np.zeros(_ALIGN, np.uint8)
        self._buffers: list[Buffer] = []
        self._starts = np.zeros(FIRST_BUFFER_RANGE, np.int64)
        self._sizes = np.full(FIRST_BUFFER_RANGE, -1, np.int64)
        self._writable = np.zeros(FIRST_BUFFER_RANGE, np.bool_)
        self._modules: dict[int, Mapping[str, Buffer]] = {}

    @property
    def arena(self) -> NDArray[np.uint8]:
        """Return all bytes; a buffer's begin at its `start`."""
        return self._arena

    @property
    def used_bytes(self) -> int:
        """Return the bytes of the arena that buffers take."""
        return self._used

    def allocate(
        self, nbytes: int, name: str, is_read_only: bool = False, fill: Array | bytes | int = POISON
    ) -> Buffer:
        """Return a new buffer, filled with an array's bytes or with one byte repeated.

        A kernel's write to a read-only buffer is a fault. Raises LaunchFault over the budget.
        """
        start = self._used
        end = start + -(-max(nbytes, 1) // _ALIGN) * _ALIGN
        if nbytes < 0 or end > self._budget_bytes or len(self._buffers) >= _LAST_RANGE:
            message = f"{nbytes} bytes for {name}: over the {self._budget_bytes} bytes of device memory"
            raise LaunchFault(Fault(FaultKind.MEMORY_BUDGET, message))
        self._grow(end)
        buffer = Buffer(name, nbytes, is_read_only, FIRST_BUFFER_RANGE + len(self._buffers), start)
        self._buffers.append(buffer)
        self._starts = np.append(self._starts, start)
        self._sizes = np.append(self._sizes, nbytes)
        self._writable = np.append(self._writable, not is_read_only)
        self.write(buffer, bytes([fill]) * nbytes if isinstance(fill, int) else fill)
        return buffer

    def write(self, buffer: Buffer, content: Array | bytes) -> None:
        """Set a buffer's bytes from the host; `content` must have as many."""
        data = content if isinstance(content, bytes) else np.ascontiguousarray(content).tobytes()
        if len(data) != buffer.nbytes:
            raise ValueError(f"{len(data)} bytes for {buffer.name}, which has {buffer.nbytes}")
        self._arena[buffer.start : buffer.start + buffer.nbytes] = np.frombuffer(data, np.uint8)

    def fetch(self, buffer: Buffer, dtype: Any = np.uint8, shape: tuple[int, ...] | None = None) -> Array:
        """Return a copy of a buffer's content, flat unless a shape is given."""
        data = self._arena[buffer.start : buffer.start + buffer.nbytes].copy().view(dtype)
        answer: Array = data if shape is None else data.reshape(shape)
        return answer

    def module_buffers(self, module: int) -> Mapping[str, Buffer] | None:
        """Return the variables of a module that was launched in this memory before."""
        return self._modules.get(module)

    def remember_module(self, module: int, buffers: Mapping[str, Buffer]) -> None:
        """Keep a module's variables, which live as long as this memory."""
        self._modules[module] = buffers

    def buffer_of(self, range_number: int) -> Buffer | None:
        """Return the buffer of an address range."""
        at = range_number - FIRST_BUFFER_RANGE
        return self._buffers[at] if 0 <= at < len(self._buffers) else None

    def resolve(self, address: NDArray[np.uint64], width: int) -> "Resolved":
        """Return where addresses lie, for accesses of `width` bytes."""
        ranges = (address >> np.uint64(RANGE_BITS)).astype(np.int64)
        offset = (address & _RANGE_MASK).astype(np.int64) - _RANGE_START
        first = int(ranges[0])
        if (ranges == first).all():
            known = first < self._sizes.size
            size = int(self._sizes[first]) if known else -1
            is_inside = (offset >= 0) & (offset <= size - width)
            start = int(self._starts[first]) if known else 0
            return Resolved(ranges, offset, is_inside, offset + start, bool(known and self._writable[first]))
        numbers = np.where(ranges < self._sizes.size, ranges, 0)
        is_inside = (offset >= 0) & (offset <= self._sizes[numbers] - width)
        return Resolved(ranges, offset, is_inside, offset + self._starts[numbers], self._writable[numbers])

    def _grow(self, end: int) -> None:
        if end > self._arena.size:
            larger = np.zeros(max(end, min(2 * self._arena.size, self._budget_bytes)), np.uint8)
            larger[: self._used] = self._arena[: self._used]
            self._arena = larger
        self._used = end


@dataclass(frozen=True)
class Resolved:
    """Addresses taken apart: range and offset in it, whether allowed, place in the arena, whether writable."""

    ranges: NDArray[np.int64]
    offset: NDArray[np.int64]
    is_inside: NDArray[np.bool_]
    place: NDArray[np.int64]
    is_writable: NDArray[np.bool_] | bool
