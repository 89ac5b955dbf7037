"""Variables side by side in a window of shared or local memory, with red zones between."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.syntax import Variable

RED_ZONE_BYTES = 128


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each variable lies; `nbytes` is the whole window, red zones included."""

    offsets: dict[str, int]
    sizes: dict[str, int]
    nbytes: int
    is_variable: NDArray[np.bool_]

    @property
    def variable_bytes(self) -> int:
        """Return the bytes of the variables alone."""
        return sum({self.offsets[name]: size for name, size in self.sizes.items()}.values())

    def holds(self, offset: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
        """Return which accesses lie wholly in a variable."""
        last = self.nbytes - width
        if last < 0:
            return np.zeros(offset.shape, np.bool_)
        is_inside = (offset >= 0) & (offset <= last)
        near = np.where(is_inside, offset, 0)
        answer: NDArray[np.bool_] = is_inside & self.is_variable[near] & self.is_variable[near + (width - 1)]
        return answer

    def described(self, offset: int) -> str:
        """Return an offset as a byte of the nearest variable."""
        if not self.sizes:
            return f"byte {offset} of nothing, as no variable is declared"
        name = min(self.sizes, key=lambda name: self._distance(name, offset))
        return f"byte {offset - self.offsets[name]} of {name}, which has {self.sizes[name]} bytes"

    def _distance(self, name: str, offset: int) -> int:
        start = self.offsets[name]
        return max(start - offset, offset - (start + self.sizes[name]) + 1, 0)


def lay_out(variables: Iterable[Variable], dynamic_bytes: int = 0) -> Layout:
    """Place variables one after the other; those without a size share the dynamic part at the end."""
    offsets: dict[str, int] = {}
    sizes: dict[str, int] = {}
    end = 0
    ordered = sorted(variables, key=lambda variable: variable.is_array and variable.nbytes == 0)
    dynamic_start = None
    for variable in ordered:
        is_dynamic = variable.is_array and variable.nbytes == 0
        if is_dynamic and dynamic_start is not None:
            start = dynamic_start
        else:
            start = -(-end // max(variable.align, 16)) * max(variable.align, 16)
        dynamic_start = start if is_dynamic else None
        offsets[variable.name] = start
        sizes[variable.name] = dynamic_bytes if is_dynamic else variable.nbytes
        end = start + sizes[variable.name] + RED_ZONE_BYTES
    nbytes = -(-end // RED_ZONE_BYTES) * RED_ZONE_BYTES
    is_variable = np.zeros(nbytes, np.bool_)
    for name, start in offsets.items():
        is_variable[start : start + sizes[name]] = True
    return Layout(offsets, sizes, nbytes, is_variable)
