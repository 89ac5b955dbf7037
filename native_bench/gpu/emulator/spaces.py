"""The state spaces of a chunk: every access is checked for its place, shared and global ones for races."""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.faults import FaultKind
from native_bench.gpu.emulator.layout import Layout
from native_bench.gpu.emulator.memory import LOCAL_RANGE, RANGE_BITS, SHARED_RANGE, DeviceMemory
from native_bench.gpu.emulator.races import AccessTable, Conflict, Places
from native_bench.gpu.emulator.request import Addresses, Request
from native_bench.gpu.emulator.value_types import Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_OFFSET = np.uint64((1 << RANGE_BITS) - 1)


class Space(Protocol):
    """One state space; `table` is None where no other thread can reach it."""

    name: str
    table: AccessTable | None

    @property
    def octets(self) -> NDArray[np.uint8]:
        """Return the bytes that places count."""

    def locate(self, request: Request) -> Places:
        """Return the places of accesses that stay inside their variable; raises LaunchFault for others."""

    def note(self, request: Request, granules: Places) -> None:
        """Refuse a read of what nobody wrote, where that is known."""


class GlobalSpace:
    """Device memory, `.const` and kernel parameters included."""

    name = "global"

    def __init__(self, chunk: "Chunk", memory: DeviceMemory, table: AccessTable) -> None:
        self._launch = chunk.launch
        self._memory = memory
        self.table: AccessTable | None = table

    @property
    def octets(self) -> NDArray[np.uint8]:
        """Return the arena."""
        return self._memory.arena

    def locate(self, request: Request) -> Places:
        """Return places in the arena; a write to an input is a fault too."""
        found = self._memory.resolve(request.address, request.width)
        if not found.is_inside.all():
            at = int(np.flatnonzero(~found.is_inside)[0])
            message = self._outside(request, int(found.ranges[at]), int(found.offset[at]))
            raise request.fault(FaultKind.OUT_OF_BOUNDS, message, at)
        if "read" not in request.what and not np.all(found.is_writable):
            at = int(np.flatnonzero(~np.broadcast_to(found.is_writable, request.address.shape))[0])
            where = f"byte {int(found.offset[at])} of {self._launch.buffer_name(int(found.ranges[at]))}"
            message = f"{request.what} of {request.width} bytes at {where}, which is an input"
            raise request.fault(FaultKind.READ_ONLY, message, at)
        return found.place

    def note(self, request: Request, granules: Places) -> None:
        """Do nothing: what a buffer holds before the launch is its own business."""

    def _outside(self, request: Request, range_number: int, offset: int) -> str:
        access, buffer = f"{request.what} of {request.width} bytes", self._memory.buffer_of(range_number)
        if buffer is None:
            address = (range_number << RANGE_BITS) + offset + (1 << (RANGE_BITS - 1))
            return f"{access} at address {address:#x}, where no buffer is"
        name = self._launch.buffer_name(range_number)
        return f"{access} at byte {offset} of {name}, which has {buffer.nbytes} bytes"


class SharedSpace:
    """The shared memory of a chunk's blocks, one window after the other."""

    name = "shared"

    def __init__(self, layout: Layout, blocks: int, granule: int) -> None:
        self._layout = layout
        self.octets = np.full(blocks * layout.nbytes, 0xFF, np.uint8)
        self._table = AccessTable(-(-self.octets.size // granule) + 1, is_per_block=True)
        self.table: AccessTable | None = self._table

    def locate(self, request: Request) -> Places:
        """Return places in the blocks' windows."""
        offset = _within(request, self._layout, self.name)
        return request.lanes.of(request.chunk.row) * self._layout.nbytes + offset

    def note(self, request: Request, granules: Places) -> None:
        """Refuse a read of what nobody wrote."""
        missing = self._table.never_written(granules)
        if "write" not in request.what and missing.any():
            at = int(np.flatnonzero(missing)[0])
            place = self._layout.described(int(request.address[at] & _OFFSET))
            message = f"{request.what} of {request.width} bytes at {place}, before any write"
            raise request.fault(FaultKind.UNINITIALISED_SHARED, message, at)


class LocalSpace:
    """Each thread's own memory, and the `.param` variables of calls."""

    name = "local"

    def __init__(self, layout: Layout, lane_count: int) -> None:
        self._layout = layout
        self.octets = np.full(lane_count * layout.nbytes, 0xFF, np.uint8)
        self.table: AccessTable | None = None

    def locate(self, request: Request) -> Places:
        """Return places in the threads' windows."""
        return request.lanes.index * self._layout.nbytes + _within(request, self._layout, self.name)

    def note(self, request: Request, granules: Places) -> None:
        """Do nothing: a thread's own memory has no races."""


def _within(request: Request, layout: Layout, space: str) -> Places:
    """Return offsets in a window, after checking that the whole access lies in variables."""
    offset = (request.address & _OFFSET).astype(np.int64)
    is_inside = layout.holds(offset, request.width)
    if not is_inside.all():
        at = int(np.flatnonzero(~is_inside)[0])
        place = f"{layout.described(int(offset[at]))} in {space} memory"
        message = f"{request.what} of {request.width} bytes at {place}"
        raise request.fault(FaultKind.OUT_OF_BOUNDS, message, at)
    return offset


def generic_window(address: Addresses) -> Array:
    """Return which window a generic address belongs to: SHARED_RANGE, LOCAL_RANGE, or 0 for global."""
    ranges = address >> np.uint64(RANGE_BITS)
    return np.where((ranges == SHARED_RANGE) | (ranges == LOCAL_RANGE), ranges, np.uint64(0)).astype(np.int64)


def raise_conflict(space: Space, request: Request, conflict: Conflict) -> None:
    """Raise the fault of two accesses that nothing orders."""
    chunk, at = request.chunk, conflict.at
    place = f"{request.width} bytes at {chunk.describe(space.name, int(request.address[at]))}"
    if conflict.is_pending_copy:
        message = f"{request.what} of {place} while an asynchronous copy to it has not been waited for"
        raise request.fault(FaultKind.ASYNC_COPY, message, at)
    kind = FaultKind.SHARED_RACE if space.name == "shared" else FaultKind.GLOBAL_RACE
    message = f"{request.what} of {place} after {_first_access(request, conflict)}"
    raise request.fault(kind, message, at)


def _first_access(request: Request, conflict: Conflict) -> str:
    first = "a write" if conflict.was_write else "a read"
    who = "several threads" if conflict.other_thread is None else f"thread {conflict.other_thread}"
    own_block = int(request.chunk.block[request.lanes.index[conflict.at]])
    if conflict.other_block is None:
        return f"{first} by {who} of several blocks, and blocks of a launch are not ordered"
    if conflict.other_block != own_block:
        return f"{first} by {who} of block {conflict.other_block}, and blocks of a launch are not ordered"
    return f"{first} by {who} of this block with no barrier between"
