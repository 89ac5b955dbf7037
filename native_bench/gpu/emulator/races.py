"""Who touched which place last, and which two touches nothing orders.

A place is a granule of the smallest access that the kernel makes. Its last write and its readers are kept as
(time, who); time counts steps through the whole launch. Ordered are: a thread with itself; threads of a block
with a barrier between; threads of a warp with a warp operation between (any one: hardware gathers the lanes for
each); two threads where the first's block has executed a fence after the access and the second's an atomic or
volatile one (as when the last block sums up; lenient, as flags are not paired). A write that leaves the bits as
they are is no race: the outcome is the same on any machine. Atomic and volatile accesses are in order among
themselves, but not with plain ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.lanes import Lanes

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

Entries = NDArray[np.int64]
Places = NDArray[np.int64]
Differs = Callable[[NDArray[np.intp]], NDArray[np.bool_]]

_CODE_BITS = 29
_CODE = np.int64((1 << _CODE_BITS) - 1)
_ATOMIC = np.int64(1 << 29)
_PENDING = np.int64(1 << 30)
_TIME_SHIFT = np.int64(32)


@dataclass(frozen=True)
class Conflict:
    """Two touches without order: the lane (of those given) that came second, who came first, and what it did."""

    at: int
    other_thread: int | None
    other_block: int | None
    is_pending_copy: bool
    was_write: bool


class Identities:
    """Codes for who: a thread, many threads of a warp, of a block, of a grid; numbered in that order."""

    def __init__(self, threads_per_block: int, blocks: int) -> None:
        self.threads_per_block = threads_per_block
        self.warps_per_block = -(-threads_per_block // 32)
        self.first_warp = threads_per_block * blocks
        self.first_block = self.first_warp + self.warps_per_block * blocks
        self.grid = self.first_block + blocks
        self.fits = self.grid < 1 << _CODE_BITS
        self.fence_time = np.zeros(blocks + 1, np.int64)
        self.acquire_time = np.zeros(blocks + 1, np.int64)

    def warp_of(self, code: Entries) -> Entries:
        """Return the warp of a thread or warp code, -1 for a wider one."""
        block, thread = np.divmod(code, self.threads_per_block)
        of_thread = block * self.warps_per_block + (thread >> 5)
        of_warp = np.where(code < self.first_block, code - self.first_warp, -1)
        return np.where(code < self.first_warp, of_thread, of_warp)

    def block_of(self, code: Entries) -> Entries:
        """Return the block of a code, -1 for the grid."""
        of_block = np.where(code < self.grid, code - self.first_block, -1)
        of_warp = np.where(code < self.first_block, (code - self.first_warp) // self.warps_per_block, of_block)
        return np.where(code < self.first_warp, code // self.threads_per_block, of_warp)


class Who:
    """The lanes of one access: their codes, and the times since which others' accesses are ordered before."""

    def __init__(self, chunk: "Chunk", lanes: Lanes) -> None:
        self._chunk = chunk
        self._lanes = lanes
        self.identities = chunk.identities
        self.now = chunk.now
        self.code: Entries = lanes.of(chunk.code)
        self.entry: Entries = np.int64(chunk.now) << _TIME_SHIFT | self.code

    @cached_property
    def block_sync(self) -> Entries:
        """Return when each lane last passed a barrier."""
        return self._lanes.of(self._chunk.block_sync)

    @cached_property
    def block(self) -> Entries:
        """Return each lane's block."""
        return self._lanes.of(self._chunk.block)

    @cached_property
    def warp(self) -> Entries:
        """Return each lane's warp, numbered through the grid."""
        return self.identities.warp_of(self.code)

    def unordered(self, entries: Entries, at: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of the entries at these places were made by somebody else with nothing between."""
        ids, found = self.identities, entries[at]
        time, code = found >> _TIME_SHIFT, found & _CODE
        block, own_block = ids.block_of(code), self.block[at]
        warp_sync = self._lanes.of(self._chunk.warp_sync)[at]
        is_synced = (block == own_block) & (time <= self.block_sync[at])
        is_synced |= (ids.warp_of(code) == self.warp[at]) & (time <= warp_sync)
        fenced = (block < 0) | (ids.fence_time[block] > time)
        is_released = fenced & (ids.acquire_time[own_block] > time)
        answer: NDArray[np.bool_] = (time > 0) & (code != self.code[at]) & ~is_synced & ~is_released
        return answer

    def is_covered_by(self, codes: Entries) -> NDArray[np.bool_]:
        """Return which lanes are among those that a code stands for."""
        ids = self.identities
        answer: NDArray[np.bool_] = (
            (codes == self.code)
            | (codes == ids.first_warp + self.warp)
            | (codes == ids.first_block + self.block)
            | (codes == ids.grid)
        )
        return answer


class AccessTable:
    """The last accesses of every granule of one memory; `is_per_block`: no other block can reach a granule."""

    def __init__(self, granules: int, is_per_block: bool) -> None:
        self._writes = np.zeros(granules, np.int64)
        self._reads = np.zeros(granules, np.int64)
        self._is_per_block = is_per_block
        self._has_copies = False

    def never_written(self, granules: Places) -> NDArray[np.bool_]:
        """Return which granules nobody wrote yet."""
        answer: NDArray[np.bool_] = self._writes[granules] == 0
        return answer

    def read(self, granules: Places, who: Who) -> Conflict | None:
        """Note reads; return the first that races with a write."""
        conflict = self._conflict(self._writes[granules], who, True)
        if conflict is None:
            self._note_reads(granules, who)
        return conflict

    def write(self, granules: Places, who: Who, differs: Differs) -> Conflict | None:
        """Note writes; return the first that races. `differs` tells which lanes' new bits are not the old ones."""
        conflict = self._conflict(self._writes[granules], who, True, differs)
        conflict = conflict or self._conflict(self._reads[granules], who, False, differs)
        if conflict is None:
            self._writes[granules] = who.entry
        return conflict

    def lost_to(self, granules: Places, who: Who) -> NDArray[np.intp]:
        """Return the lanes whose place another lane of the same instruction wrote too."""
        return np.flatnonzero(self._writes[granules] != who.entry)

    def winner(self, granules: Places, who: Who, at: int) -> Conflict:
        """Return the conflict of a lane with the one whose write to the same place stayed."""
        return _described(self._writes[granules], at, who, True, False)

    def atomic(self, granules: Places, who: Who) -> Conflict | None:
        """Note atomic accesses; return the first that races with a plain one."""
        last = self._writes[granules]
        conflict = self._conflict(np.where((last & _ATOMIC) != 0, 0, last), who, True)
        conflict = conflict or self._conflict(self._reads[granules], who, False)
        if conflict is None:
            self._writes[granules] = who.entry | _ATOMIC
        return conflict

    def begin_copy(self, granules: Places, who: Who) -> Conflict | None:
        """Note that an asynchronous copy is under way to these places."""
        self._has_copies = True
        conflict = self._conflict(self._writes[granules], who, True)
        conflict = conflict or self._conflict(self._reads[granules], who, False)
        if conflict is None:
            self._writes[granules] = who.entry | _PENDING
        return conflict

    def end_copy(self, granules: Places, who: Who) -> None:
        """Note that a copy was waited for: from now on it is a write of its thread."""
        self._writes[granules] = who.entry

    def _conflict(
        self, last: Entries, who: Who, was_write: bool, differs: Differs | None = None
    ) -> Conflict | None:
        if was_write and self._has_copies:
            pending = np.flatnonzero(last & _PENDING)
            if pending.size:
                return _described(last, int(pending[0]), who, was_write, True)
        # Most places were touched before the last barrier or never; only the others are worth a closer look.
        recent = np.flatnonzero(last >> _TIME_SHIFT > who.block_sync if self._is_per_block else last)
        if recent.size == 0:
            return None
        chosen = recent[who.unordered(last, recent)]
        if differs is not None and chosen.size:
            chosen = chosen[differs(chosen)]
        return _described(last, int(chosen[0]), who, was_write, False) if chosen.size else None

    def _note_reads(self, granules: Places, who: Who) -> None:
        """Note readers; where they are several, the narrowest of thread, warp, block, grid that holds them all."""
        ids, last = who.identities, self._reads[granules]
        time, codes = np.int64(who.now) << _TIME_SHIFT, last & _CODE
        is_alone = (last >> _TIME_SHIFT <= who.block_sync) if self._is_per_block else (last == 0)
        is_alone |= codes == who.code
        chosen = who.code if is_alone.all() else np.where(is_alone, who.code, _merged(codes, who))
        self._reads[granules] = time | chosen
        for first, number in ((ids.first_warp, who.warp), (ids.first_block, who.block), (ids.grid, 0)):
            now = self._reads[granules] & _CODE
            if (now == chosen).all():
                return
            left_out = np.flatnonzero(~who.is_covered_by(now))
            self._reads[granules[left_out]] = time | (first + np.broadcast_to(number, now.shape)[left_out])


def _merged(codes: Entries, who: Who) -> Entries:
    """Return the narrowest code that holds both these earlier readers and the lane itself."""
    ids = who.identities
    in_block = np.where(ids.block_of(codes) == who.block, ids.first_block + who.block, ids.grid)
    return np.where(ids.warp_of(codes) == who.warp, ids.first_warp + who.warp, in_block)


def _described(last: Entries, at: int, who: Who, was_write: bool, is_pending: bool) -> Conflict:
    ids, code = who.identities, last[at : at + 1] & _CODE
    block = int(ids.block_of(code)[0])
    thread = int(code[0]) % ids.threads_per_block if code[0] < ids.first_warp else None
    return Conflict(at, thread, block if block >= 0 else None, is_pending, was_write)
