"""The registers of a chunk: one array each, one entry a thread, made when first used."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.value_types import Array


class RegisterFile:
    """Values as bits (unsigned integers, or bool for predicates); the reader decides on their type."""

    def __init__(self, dtypes: Sequence[np.dtype[Any]], lane_count: int) -> None:
        self._dtypes = dtypes
        self._lane_count = lane_count
        self._arrays: list[Array | None] = [None] * len(dtypes)

    def read(self, register: int, lanes: Lanes) -> Array:
        """Return the bits in a register. Not to be written to: it may be the register itself."""
        return lanes.of(self._array(register))

    def write(self, register: int, lanes: Lanes, bits: Array) -> None:
        """Set a register; `bits` has one entry a lane, or one for all."""
        if lanes.is_whole:
            self._array(register)[...] = bits
        else:
            self._array(register)[lanes.index] = bits

    def _array(self, register: int) -> Array:
        array = self._arrays[register]
        if array is None:
            array = self._arrays[register] = np.zeros(self._lane_count, self._dtypes[register])
        return array
