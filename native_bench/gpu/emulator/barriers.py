"""Barriers of blocks: who waits where, and when all live threads of a block have come."""

from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.faults import FaultKind
from native_bench.gpu.emulator.groups import Groups
from native_bench.gpu.emulator.lanes import LaneNumbers, Lanes
from native_bench.gpu.emulator.steps import Barrier
from native_bench.gpu.emulator.value_types import Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_BARRIERS = 16


class Barriers:
    """The sixteen barriers of each block of a chunk."""

    def __init__(self, chunk: "Chunk", groups: Groups) -> None:
        self._chunk = chunk
        self._groups = groups
        self._live = np.bincount(chunk.row, minlength=chunk.block_count)
        self._arrived = np.zeros((chunk.block_count, _BARRIERS), np.int64)
        self._expected = np.full((chunk.block_count, _BARRIERS), -1, np.int64)
        self._votes = np.zeros((chunk.block_count, _BARRIERS), np.int64)
        self._number = np.full(chunk.lane_count, -1, np.int64)
        self._counter = np.zeros(chunk.lane_count, np.int64)
        self._steps: dict[int, Barrier] = {}

    @property
    def waiting(self) -> LaneNumbers:
        """Return the lanes that wait."""
        return np.flatnonzero(self._number >= 0)

    def arrive(self, counter: int, lanes: Lanes, step: Barrier) -> None:
        """Let lanes arrive; those that wait go on at the next counter once their block is complete."""
        chunk = self._chunk
        self._steps[counter + 1] = step
        number = lanes.spread(step.number.read(chunk, lanes)).astype(np.int64)
        if (number >= _BARRIERS).any():
            raise chunk.fault(FaultKind.DEADLOCK, f"barrier {int(number.max())}: there are 16", lanes)
        rows = lanes.of(chunk.row)
        if step.count is not None:
            self._expected[rows, number] = lanes.spread(step.count.read(chunk, lanes)).astype(np.int64)
        np.add.at(self._arrived, (rows, number), 1)
        if step.value is not None:
            np.add.at(self._votes, (rows, number), lanes.spread(step.value.read(chunk, lanes)))
        if step.waits:
            self._number[lanes.index] = number
            self._counter[lanes.index] = counter + 1
        else:
            self._groups.put(counter + 1, lanes.index, chunk.now)
        self._release()

    def leave(self, lanes: LaneNumbers) -> None:
        """Count threads that ended: nobody waits for them any more."""
        self._live -= np.bincount(self._chunk.row[lanes], minlength=self._chunk.block_count)
        self._release()

    def _release(self) -> None:
        needed = np.where(self._expected >= 0, self._expected, self._live[:, None])
        complete = (self._arrived > 0) & (self._arrived >= needed)
        if not complete.any():
            return
        waiting = self.waiting
        rows, numbers = self._chunk.row[waiting], self._number[waiting]
        freed = waiting[complete[rows, numbers]]
        self._check_together(freed)
        self._answer(freed)
        self._number[freed] = -1
        self._chunk.block_sync[freed] = self._chunk.now
        self._chunk.warp_sync[freed] = self._chunk.now
        for counter in np.unique(self._counter[freed]):
            self._groups.put(int(counter), freed[self._counter[freed] == counter], self._chunk.now)
        self._arrived[complete] = 0
        self._votes[complete] = 0
        self._expected[complete] = -1

    def _answer(self, freed: LaneNumbers) -> None:
        """Write the result of a reduction to every thread that waited for it."""
        for counter in np.unique(self._counter[freed]):
            step = self._steps[int(counter)]
            if step.target is None:
                continue
            index = freed[self._counter[freed] == counter]
            rows, numbers = self._chunk.row[index], self._number[index]
            votes, arrived = self._votes[rows, numbers], self._arrived[rows, numbers]
            answers: dict[str, Array] = {"popc": votes.astype(np.uint32), "and": votes == arrived, "or": votes > 0}
            step.target.write(self._chunk, Lanes(index, False), answers[step.reduction])

    def _check_together(self, freed: LaneNumbers) -> None:
        """Refuse a warp whose lanes arrived at different instructions: `.aligned` promises one."""
        chunk = self._chunk
        warps = chunk.slot[freed] >> 5
        is_same_warp = np.diff(warps) == 0
        split = np.flatnonzero(is_same_warp & (np.diff(self._counter[freed]) != 0))
        if split.size and self._steps[int(self._counter[freed[split[0]]])].is_aligned:
            lanes = Lanes(freed, False)
            message = "threads of one warp wait at different barriers"
            raise chunk.fault(FaultKind.DEADLOCK, message, lanes, int(split[0]))

    def check_leaving(self, lanes: LaneNumbers) -> None:
        """Refuse a thread that ends after its warp has begun to wait at a barrier it will never reach."""
        chunk = self._chunk
        waiting = self.waiting
        if waiting.size == 0:
            return
        has_waiting = np.zeros(chunk.warp_count, np.bool_)
        has_waiting[chunk.slot[waiting] >> 5] = True
        wrong = np.flatnonzero(has_waiting[chunk.slot[lanes] >> 5])
        if wrong.size:
            warp = chunk.slot[lanes[wrong[0]]] >> 5
            first = waiting[chunk.slot[waiting] >> 5 == warp][:1]
            self._blame(first, "waits at a barrier that other threads of its warp have left out")

    def blame_waiting(self) -> None:
        """Raise the fault of threads that wait for ever."""
        self._blame(self.waiting[:1], "waits at a barrier that other threads of the block never reach")

    def _blame(self, lane: LaneNumbers, what: str) -> None:
        chunk = self._chunk
        operation = chunk.launch.program.operations[int(self._counter[lane[0]]) - 1]
        chunk.place = operation.place
        raise chunk.fault(FaultKind.DEADLOCK, f"the thread {what}", Lanes(lane, False))
