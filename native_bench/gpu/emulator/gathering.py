"""Warp operations: lanes wait for the others of their mask, and a mask that can never be met is a fault."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.faults import FaultKind
from native_bench.gpu.emulator.groups import Groups
from native_bench.gpu.emulator.lanes import LaneNumbers, Lanes
from native_bench.gpu.emulator.steps import Together

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk


class Gathering:
    """The lanes that stand at a warp operation and wait for their mask."""

    def __init__(self, chunk: "Chunk", groups: Groups) -> None:
        self._chunk = chunk
        self._groups = groups
        self._counter = np.full(chunk.lane_count, -1, np.int64)
        self._mask = np.zeros(chunk.lane_count, np.uint32)
        self._is_meeting = np.zeros(chunk.lane_count, np.bool_)

    @property
    def waiting(self) -> LaneNumbers:
        """Return the lanes that wait."""
        return np.flatnonzero(self._counter >= 0)

    def arrive(self, counter: int, lanes: Lanes, step: Together) -> None:
        """Run the step for the lanes whose mask is complete, and keep the others."""
        chunk = self._chunk
        mask = lanes.spread(step.mask.read(chunk, lanes)).astype(np.uint32)
        self._check_own_bit(lanes, mask)
        ready = self._missing(lanes, mask) == 0
        if ready.all():
            self._run(counter, lanes, step)
            return
        self._counter[lanes.index] = counter
        self._mask[lanes.index] = mask
        self._is_meeting[lanes.index] = step.is_meeting
        self._run_complete(counter, step)

    def _run_complete(self, counter: int, step: Together) -> None:
        """Run whatever those who waited at this operation can do now that others came."""
        same = self._counter == counter
        if step.is_meeting:
            same |= (self._counter >= 0) & self._is_meeting
        lanes = Lanes(np.flatnonzero(same), False)
        complete = self._missing(lanes, self._mask[lanes.index]) == 0
        ready = lanes.index[complete]
        for at in np.unique(self._counter[ready]):
            part = ready[self._counter[ready] == at]
            self._counter[part] = -1
            self._run(int(at), Lanes(part, False), step)

    def _run(self, counter: int, lanes: Lanes, step: Together) -> None:
        step.run(self._chunk, lanes)
        if lanes.is_whole:
            self._chunk.warp_sync[:] = self._chunk.now
        else:
            self._chunk.warp_sync[lanes.index] = self._chunk.now
        self._groups.put(counter + 1, lanes.index, self._chunk.now)

    def _missing(self, lanes: Lanes, mask: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return for each lane the live lanes of its mask that are not here."""
        chunk = self._chunk
        warp = lanes.of(chunk.slot) >> 5
        here = chunk.present(lanes)[warp]
        if (here == 0xFFFF_FFFF).all():
            return np.zeros_like(mask)
        live = chunk.present(Lanes(np.flatnonzero(chunk.is_live), False))[warp]
        answer: NDArray[np.uint32] = mask & live & ~here
        return answer

    def _check_own_bit(self, lanes: Lanes, mask: NDArray[np.uint32]) -> None:
        lane = (lanes.of(self._chunk.slot) & 31).astype(np.uint32)
        absent = np.flatnonzero((mask >> lane & np.uint32(1)) == 0)
        if absent.size:
            at = int(absent[0])
            message = f"lane {int(lane[at])} is not in the mask {int(mask[at]):#010x} that it passes"
            raise self._chunk.fault(FaultKind.WARP_MASK, message, lanes, at)

    def check_leaving(self, leaving: LaneNumbers) -> None:
        """Refuse a thread that ends while others of its warp wait for it at a warp operation."""
        waiting = self.waiting
        if waiting.size == 0:
            return
        gone = self._chunk.present(Lanes(leaving, False))
        wanted = gone[self._chunk.slot[waiting] >> 5] & self._mask[waiting]
        if wanted.any():
            at = int(np.flatnonzero(wanted)[0])
            self._blame(waiting[at], int(wanted[at]))

    def blame_waiting(self) -> None:
        """Raise the fault of a mask that nobody will complete."""
        lanes = Lanes(self.waiting[:1], False)
        same = np.flatnonzero(self._counter == self._counter[lanes.index[0]])
        missing = self._missing(Lanes(same, False), self._mask[same])
        self._blame(int(same[0]), int(missing[0]))

    def _blame(self, lane: int, missing: int) -> None:
        chunk = self._chunk
        chunk.place = chunk.launch.program.operations[int(self._counter[lane])].place
        mask = int(self._mask[lane])
        message = f"a warp operation with the mask {mask:#010x}, but lanes {missing:#010x} do not come"
        raise chunk.fault(FaultKind.WARP_MASK, message, Lanes(np.array([lane]), False))
