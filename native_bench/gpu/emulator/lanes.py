"""Which threads of a chunk take part in an instruction. A lane is a thread's place in the chunk."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LaneNumbers = NDArray[np.intp]


class Lanes:
    """Ascending lane numbers; `is_whole` when they are the chunk's every thread (then nothing is copied)."""

    __slots__ = ("index", "is_whole")

    def __init__(self, index: LaneNumbers, is_whole: bool) -> None:
        self.index = index
        self.is_whole = is_whole

    def __len__(self) -> int:
        return int(self.index.size)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of these lanes: the array itself, not a copy, for the whole chunk."""
        return values if self.is_whole else values[self.index]

    def where(self, chosen: NDArray[np.bool_]) -> "Lanes":
        """Return the lanes for which `chosen` (one entry a lane of these, or one for all) holds."""
        if chosen.size == 1 or chosen.all():
            return self if chosen.all() else Lanes(self.index[:0], False)
        return Lanes(self.index[chosen], False)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return one entry a lane, contiguous; a single entry stands for all."""
        return np.ascontiguousarray(np.broadcast_to(values, self.index.shape))
