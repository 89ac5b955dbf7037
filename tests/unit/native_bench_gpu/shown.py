"""A case that shows pairs of the whitelist by running a kernel of its own."""

from collections.abc import Callable
from dataclasses import dataclass

Pair = tuple[str, str]


@dataclass(frozen=True)
class Shown:
    """Pairs of the whitelist, and the function that runs them and asserts what comes out."""

    pairs: tuple[Pair, ...]
    check: Callable[[], None]
    name: str = ""
