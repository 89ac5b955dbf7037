"""What can end an emulated launch: a fault of the kernel, with its place, or what is not emulated."""

from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """What a launch did wrong. Stable names: they stand in run records."""

    OUT_OF_BOUNDS = "out_of_bounds"
    MISALIGNED = "misaligned"
    READ_ONLY = "read_only"
    SHARED_RACE = "shared_race"
    GLOBAL_RACE = "global_race"
    ASYNC_COPY = "async_copy"
    UNINITIALISED_SHARED = "uninitialised_shared"
    WARP_MASK = "warp_mask"
    DEADLOCK = "deadlock"
    ENDLESS_LOOP = "endless_loop"
    BAD_ARGUMENT = "bad_argument"
    MEMORY_BUDGET = "memory_budget"
    TIME_BUDGET = "time_budget"
    ASSERTION = "assertion"
    TRAP = "trap"

    @property
    def is_conclusive(self) -> bool:
        """Whether the kernel is at fault. A budget of time or memory only says that the case is too large."""
        return self not in (FaultKind.MEMORY_BUDGET, FaultKind.TIME_BUDGET)


@dataclass(frozen=True)
class Place:
    """A line of the kernel's source; line 0 where the compiler told none."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else "unknown line"


@dataclass(frozen=True)
class Fault:
    """One fault: what, where in the source, and which thread met it first (None before the start)."""

    kind: FaultKind
    message: str
    file: str = ""
    line: int = 0
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        parts = [f"{self.kind}: {self.message}"]
        if self.line:
            parts.append(f"{self.file}:{self.line}")
        if self.block is not None and self.thread is not None:
            parts.append(f"block {self.block} thread {self.thread}")
        return ", ".join(parts)


class LaunchFault(Exception):
    """The launch ended with `fault`."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Unsupported(Exception):
    """The emulator does not know this part of PTX. It says nothing about the kernel.

    `instruction` is the opcode with its modifiers but without its types, `type` its types joined by dots.
    """

    def __init__(self, what: str, place: Place | None = None, instruction: str = "", type_name: str = "") -> None:
        self.place = place or Place()
        self.instruction = instruction
        self.type = type_name
        super().__init__(f"not emulated: {what}" + (f" ({self.place})" if self.place.line else ""))


def refuse_arguments(message: str) -> LaunchFault:
    """Return the fault of a launch whose arguments, grid or block do not fit its kernel."""
    return LaunchFault(Fault(FaultKind.BAD_ARGUMENT, message))
