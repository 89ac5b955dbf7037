"""One line of the instruction table, and how a line for plain arithmetic becomes something to execute."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.steps import Step
from native_bench.gpu.emulator.value_types import Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

Build = Callable[[Site], Execute | Step]
Compute = Callable[..., Array]
Factory = Callable[[Site], Compute]

_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


@dataclass(frozen=True)
class Entry:
    """An instruction for some types.

    `name` is the opcode with the modifiers that choose the entry; `types` are the joined types it is written and
    tested for; other modifiers must be in `allowed`. Anything else is refused.
    """

    name: str
    types: tuple[str, ...]
    build: Build
    allowed: frozenset[str] = frozenset()

    @property
    def selecting(self) -> frozenset[str]:
        """Return the modifiers in the name."""
        return frozenset(self.name.split(".")[1:])

    def accepts(self, site: Site) -> bool:
        """Whether this entry is written for the instruction at a site."""
        modifiers, least = set(site.modifiers), self.selecting
        return ".".join(site.types) in self.types and least <= modifiers <= least | self.allowed


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, for tables that read as lists."""
    return tuple(text.split())


def pure(name: str, types: Iterable[str], factory: Factory, shape: str, allowed: str = "") -> Entry:
    """Return an entry for arithmetic on registers.

    `shape` names the types of sources and result, as "0 0 u32 -> 0": a number is one of the instruction's own
    types, `w` the first, twice as wide.
    """
    sources, result = (part.split() for part in shape.split("->"))

    def build(site: Site) -> Execute:
        site.expect(1 + len(sources))
        wanted = [_type(word, site) for word in sources]
        is_narrowing = site.opcode == "cvt"
        read = [site.source(at + 1, name, is_narrowing) for at, name in enumerate(wanted)]
        target = site.target(site.operands[0], _type(result[0], site), is_narrowing)
        compute = factory(site)

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            values = [source.read(chunk, lanes) for source in read]
            target.write(chunk, lanes, compute(*values))

        return execute

    return Entry(name, tuple(types), build, frozenset(allowed.split()))


def plain(compute: Compute) -> Factory:
    """Return a factory for a function that is the same for all types and modifiers."""
    return lambda _site: compute


def _type(word: str, site: Site) -> str:
    if word == "w":
        return _WIDER[site.types[0]]
    return site.types[int(word)] if word.isdigit() else word


def flushed(values: Array) -> Array:
    """Return floats with subnormal ones replaced by zeros of their sign (`.ftz`)."""
    tiny = np.abs(values) < np.finfo(values.dtype).tiny
    return np.where(tiny, np.copysign(np.zeros_like(values), values), values)


def saturated(values: Array) -> Array:
    """Return floats clamped to [0, 1], NaN as 0 (`.sat`)."""
    zero = values.dtype.type(0)
    return np.where(np.isnan(values), zero, np.clip(values, zero, values.dtype.type(1)))
