"""How much a launch may cost, and the count of what it has."""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Limits of one launch. `thread_instructions` counts an instruction once for each thread that executes it."""

    thread_instructions: int = 2_000_000_000
    seconds: float = 60.0
    memory_bytes: int = 1 << 30
    threads_per_chunk: int = 1 << 15


@dataclass(frozen=True)
class LaunchCost:
    """What a finished launch executed. No measure of a GPU's time."""

    thread_instructions: int
    steps: int


class Meter:
    """Counts against a budget."""

    _STEPS_PER_LOOK = 64

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.thread_instructions = 0
        self.steps = 0
        self._deadline = time.monotonic() + budget.seconds

    def count(self, lanes: int) -> str:
        """Count one step; return which budget is used up: `instructions`, `seconds`, or an empty string."""
        self.steps += 1
        self.thread_instructions += lanes
        if self.thread_instructions > self.budget.thread_instructions:
            return "instructions"
        if self.steps % self._STEPS_PER_LOOK == 0 and time.monotonic() > self._deadline:
            return "seconds"
        return ""

    def cost(self) -> LaunchCost:
        """Return what was counted."""
        return LaunchCost(self.thread_instructions, self.steps)
