"""Opens a sandbox by name."""

from native_bench.sandbox.equipment import SLOTS
from native_bench.sandbox.interface import Sandbox, SandboxMissing
from native_bench.sandbox.probe import open_bwrap
from native_bench.sandbox.stub import StubSandbox


def open_sandbox(backend: str = "bwrap", slot: int = 0) -> Sandbox:
    """A real sandbox, or none: `stub` isolates nothing and is only ever given when asked for.

    Runs of one machine that go on at the same time need different slots. Raises SandboxMissing.
    """
    if not 0 <= slot < SLOTS:
        raise ValueError(f"slot {slot} is not in 0..{SLOTS - 1}")
    if backend == "stub":
        return StubSandbox()
    if backend != "bwrap":
        raise SandboxMissing(f"unknown sandbox backend {backend!r}; known: bwrap, stub")
    return open_bwrap(slot)
