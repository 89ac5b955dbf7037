"""What an instruction reads and writes: registers, literals, special registers, addresses."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.value_types import Array, signed, unsigned

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk


class Source(Protocol):
    """Something to read."""

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        """Return one value a lane, or one for all, of the type it was made for."""


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the type's own width."""

    number: int
    dtype: np.dtype[Any]

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        return chunk.registers.read(self.number, lanes).view(self.dtype)


@dataclass(frozen=True, slots=True)
class WideRegister:
    """The low bits of a register wider than the type, as `st`, `cvt` and packing take them."""

    number: int
    dtype: np.dtype[Any]

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        bits = chunk.registers.read(self.number, lanes)
        return bits.astype(unsigned(8 * self.dtype.itemsize)).view(self.dtype)


@dataclass(frozen=True, slots=True)
class NotPredicate:
    """`!%p1`."""

    number: int

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        return ~chunk.registers.read(self.number, lanes)


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A number; `values` has one entry."""

    values: Array

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        return self.values


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as `%tid.x`."""

    name: str
    dtype: np.dtype[Any]

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        values = chunk.special(self.name)
        return (lanes.of(values) if values.size > 1 else values).astype(self.dtype)


@dataclass(frozen=True, slots=True)
class VariableAddress:
    """The address of a variable in its own state space, plus an offset."""

    name: str
    dtype: np.dtype[Any]
    offset: int = 0

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        return np.array([chunk.address_of(self.name) + self.offset], np.uint64).astype(self.dtype)


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, always 64 bits wide."""

    base: Source
    offset: int

    def read(self, chunk: "Chunk", lanes: Lanes) -> Array:
        base = self.base.read(chunk, lanes).astype(np.uint64)
        if self.offset:
            base = base + np.uint64(self.offset & 0xFFFF_FFFF_FFFF_FFFF)
        return lanes.spread(base)


@dataclass(frozen=True, slots=True)
class Target:
    """A register to write; a value narrower than it is extended as its type asks. `number` -1 drops the value."""

    number: int
    width_bits: int

    def write(self, chunk: "Chunk", lanes: Lanes, values: Array) -> None:
        if self.number < 0:
            return
        if values.dtype.kind == "b" or self.width_bits == 1:
            chunk.registers.write(self.number, lanes, values.astype(np.bool_, copy=False))
            return
        chunk.registers.write(self.number, lanes, self._fitted(values))

    def _fitted(self, values: Array) -> Array:
        width = 8 * values.dtype.itemsize
        if width == self.width_bits:
            return values.view(unsigned(width))
        if values.dtype.kind == "i":
            return values.astype(signed(self.width_bits)).view(unsigned(self.width_bits))
        return values.view(unsigned(width)).astype(unsigned(self.width_bits))
