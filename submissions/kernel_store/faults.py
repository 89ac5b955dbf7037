"""Named instants of the write at which a test may kill the process; in production they do nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

POINTS = (
    "prepare:locked",
    "prepare:source-streamed",
    "prepare:bench-streamed",
    "prepare:ledger-streamed",
    "prepare:stored",
    "advance:checked",
    "advance:committing",
    "advance:moved",
    "advance:followed",
)

_actions: list[Callable[[str], None]] = []


def crash_here(name: str) -> None:
    """Mark one instant; calls what `crashing` installed, if anything."""
    for action in _actions:
        action(name)


@contextmanager
def crashing(action: Callable[[str], None]) -> Iterator[None]:
    """Call `action` with the name of each instant while the block runs; for tests only."""
    _actions.append(action)
    try:
        yield
    finally:
        _actions.remove(action)
