"""What an instruction is to the stepping loop: plain work, or something that moves or gathers threads."""

from dataclasses import dataclass

from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.faults import Place
from native_bench.gpu.emulator.operands import Source, Target


@dataclass(frozen=True)
class Plain:
    """Work for any set of lanes."""

    run: Execute


@dataclass(frozen=True)
class Together:
    """Work for whole warps: the live lanes of `mask` must all be there. `is_meeting`: at any such instruction."""

    run: Execute
    mask: Source
    is_meeting: bool = False


@dataclass(frozen=True)
class Barrier:
    """A barrier of the block; with `reduction` (`popc`, `and`, `or`) an answer from all threads' predicates."""

    number: Source
    count: Source | None = None
    waits: bool = True
    is_aligned: bool = True
    reduction: str = ""
    value: Source | None = None
    target: Target | None = None


@dataclass(frozen=True)
class Jump:
    """Go to the only target, or to the one that `index` names."""

    labels: tuple[str, ...]
    index: Source | None = None


@dataclass(frozen=True)
class Leave:
    """The thread ends."""


Step = Plain | Together | Barrier | Jump | Leave


@dataclass(frozen=True)
class Operation:
    """One step with its guard (-1: none) and its place in the source; `targets` are the jump's."""

    step: Step
    guard: int
    is_negated: bool
    place: Place
    targets: tuple[int, ...] = ()
