"""The loop that runs a chunk: groups of threads with one program counter step together, lowest first."""

import numpy as np

from native_bench.gpu.emulator.barriers import Barriers
from native_bench.gpu.emulator.budget import Meter
from native_bench.gpu.emulator.chunk import Chunk
from native_bench.gpu.emulator.faults import FaultKind, Unsupported
from native_bench.gpu.emulator.gathering import Gathering
from native_bench.gpu.emulator.groups import Groups
from native_bench.gpu.emulator.lanes import LaneNumbers, Lanes
from native_bench.gpu.emulator.steps import Barrier, Jump, Leave, Operation, Plain, Together
from native_bench.gpu.emulator.value_types import Array


class Stepper:
    """Runs one chunk to its end; raises LaunchFault or Unsupported."""

    def __init__(self, chunk: Chunk, meter: Meter, is_alone: bool) -> None:
        self._chunk = chunk
        self._meter = meter
        self._is_alone = is_alone
        self._operations = chunk.launch.program.operations
        self._groups = Groups(np.arange(chunk.lane_count))
        self._barriers = Barriers(chunk, self._groups)
        self._gathering = Gathering(chunk, self._groups)

    def run(self) -> None:
        """Step until every thread has ended."""
        with np.errstate(all="ignore"):
            while self._groups:
                counter, lanes, stop = self._groups.take(self._chunk.now)
                self._run_group(counter, lanes, stop)
                if not self._groups:
                    self._blame_stuck()

    def _run_group(self, counter: int, index: LaneNumbers, stop: int) -> None:
        """Run one group until it meets another one, divides, waits or ends."""
        lanes = Lanes(index, index.size == self._chunk.lane_count)
        while counter < len(self._operations):
            if counter == stop or self._groups.turn_is_over(self._chunk.now):
                self._groups.put(counter, lanes.index, self._chunk.now)
                return
            operation = self._operations[counter]
            self._tick(operation, lanes)
            if not isinstance(operation.step, Plain):
                self._turn(counter, operation, lanes)
                return
            active = self._guarded(operation, lanes)
            if len(active):
                operation.step.run(self._chunk, active)
            counter += 1
        self._leave(lanes.index)

    def _tick(self, operation: Operation, lanes: Lanes) -> None:
        self._chunk.now += 1
        self._chunk.place = operation.place
        used_up = self._meter.count(len(lanes))
        if used_up:
            self._end_over_budget(used_up, lanes)

    def _guarded(self, operation: Operation, lanes: Lanes) -> Lanes:
        return lanes if operation.guard < 0 else lanes.where(self._guard(operation, lanes))

    def _guard(self, operation: Operation, lanes: Lanes) -> Array:
        holds = self._chunk.registers.read(operation.guard, lanes)
        return ~holds if operation.is_negated else holds

    def _turn(self, counter: int, operation: Operation, lanes: Lanes) -> None:
        """Do what moves threads: those whose guard does not hold go on, the others jump, wait or end."""
        active = lanes
        if operation.guard >= 0:
            holds = self._guard(operation, lanes)
            active = lanes.where(holds)
            if len(active) < len(lanes):
                self._continue(counter + 1, lanes.index[~holds])
        if not len(active):
            return
        step = operation.step
        if isinstance(step, Jump):
            self._jump(step, operation.targets, active)
        elif isinstance(step, Leave):
            self._leave(active.index)
        elif isinstance(step, Barrier):
            self._barriers.arrive(counter, active, step)
        elif isinstance(step, Together):
            self._gathering.arrive(counter, active, step)

    def _jump(self, step: Jump, targets: tuple[int, ...], lanes: Lanes) -> None:
        if step.index is None:
            self._continue(targets[0], lanes.index)
            return
        chosen = np.minimum(lanes.spread(step.index.read(self._chunk, lanes)), len(targets) - 1)
        for at in np.unique(chosen):
            self._continue(targets[int(at)], lanes.index[chosen == at])

    def _continue(self, counter: int, index: LaneNumbers) -> None:
        """Send threads on; where nothing but the end comes they end at once, before others look for them."""
        is_end = counter >= len(self._operations)
        if not is_end:
            operation = self._operations[counter]
            is_end = isinstance(operation.step, Leave) and operation.guard < 0
        if is_end:
            self._end(index)
        else:
            self._groups.put(counter, index, self._chunk.now)

    def _leave(self, index: LaneNumbers) -> None:
        self._gathering.check_leaving(index)
        self._barriers.check_leaving(index)
        self._end(index)

    def _end(self, index: LaneNumbers) -> None:
        self._chunk.is_live[index] = False
        self._barriers.leave(index)

    def _blame_stuck(self) -> None:
        if self._gathering.waiting.size:
            self._gathering.blame_waiting()
        if self._barriers.waiting.size:
            self._barriers.blame_waiting()

    def _end_over_budget(self, used_up: str, lanes: Lanes) -> None:
        budget = self._meter.budget
        if used_up == "seconds":
            raise self._chunk.fault(
                FaultKind.TIME_BUDGET, f"the launch takes more than {budget.seconds:g} seconds here", lanes
            )
        if not self._is_alone and self._chunk.launch.program.waits_for_others:
            what = "a loop that may wait for blocks which have not begun: blocks run some at a time"
            raise Unsupported(what, self._chunk.place)
        cost = f"more than {budget.thread_instructions} thread-instructions"
        message = f"{cost}: an endless loop, or too large a case"
        raise self._chunk.fault(FaultKind.ENDLESS_LOOP, message, lanes)
