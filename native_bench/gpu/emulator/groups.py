"""The threads that wait to run, in groups with one program counter each."""

import numpy as np

from native_bench.gpu.emulator.lanes import LaneNumbers

# A thread that spins for another one has the lower counter: now and then somebody else must have a turn.
_STEPS_IN_TURN = 2048


class Groups:
    """Lowest counter first, which brings branches together again; the longest waiting one each so many steps."""

    def __init__(self, everyone: LaneNumbers) -> None:
        self._lanes: dict[int, list[LaneNumbers]] = {0: [everyone]}
        self._since: dict[int, int] = {0: 0}
        self._turn = 0

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def put(self, counter: int, lanes: LaneNumbers, now: int) -> None:
        """Add lanes that go on at a counter."""
        if lanes.size:
            self._lanes.setdefault(counter, []).append(lanes)
            self._since.setdefault(counter, now)

    def take(self, now: int) -> tuple[int, LaneNumbers, int]:
        """Return the group that runs next, and the counter at which it has to stop and look at the others."""
        if now - self._turn >= _STEPS_IN_TURN and len(self._lanes) > 1:
            self._turn = now
            counter = min(self._since, key=self._since.__getitem__)
        else:
            counter = min(self._lanes)
        parts = self._lanes.pop(counter)
        self._since.pop(counter)
        lanes = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
        above = [other for other in self._lanes if other > counter]
        return counter, lanes, min(above) if above else -1

    def turn_is_over(self, now: int) -> bool:
        """Whether the running group should stand back for one that has waited long."""
        return bool(self._lanes) and now - self._turn >= _STEPS_IN_TURN
