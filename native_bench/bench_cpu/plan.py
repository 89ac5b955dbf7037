"""How much is measured, and under which load."""

from dataclasses import dataclass

from native_bench.bench_cpu.kernels import KERNELS


@dataclass(frozen=True)
class Condition:
    """What else the processor has to do: busy loops, as a multiple of its cores."""

    name: str
    loops_per_core: int


IDLE = Condition("idle", 0)
# What stands in the place of idle on a machine that has other work.
AS_FOUND = Condition("as found", 0)
STRESSED = (Condition("2x", 2), Condition("4x", 4))


@dataclass(frozen=True)
class Plan:
    """`processes` sets per kernel and condition, as many as `seconds` (if any) allow; runs of each other tool."""

    processes: int
    peer_runs: int
    conditions: tuple[Condition, ...]
    sittings: tuple[int, ...]
    kernels: tuple[str, ...] = KERNELS
    seconds: float | None = None
    is_quick: bool = False


FULL = Plan(processes=200, peer_runs=10, conditions=(IDLE, *STRESSED), sittings=(5, 9))
# Twelve sittings of five for each kernel. A slow machine makes fewer of them instead of taking longer.
QUICK = Plan(processes=60, peer_runs=4, conditions=(IDLE,), sittings=(5,), seconds=75.0, is_quick=True)

_IDLE_SHARE = 0.1


def as_told(condition: Condition, busy_share: float) -> Condition:
    """Return what the condition may be called, when the cores were that busy before it began."""
    return AS_FOUND if condition == IDLE and busy_share > _IDLE_SHARE else condition


def peer_is_due(number: int, plan: Plan) -> bool:
    """Say whether the other tools run after set `number` (from 0): their runs are spread over all the sets."""
    return (number + 1) * plan.peer_runs // plan.processes > number * plan.peer_runs // plan.processes
