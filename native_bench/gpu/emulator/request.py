"""One access to memory by some lanes: what every check needs to know of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.faults import FaultKind, LaunchFault
from native_bench.gpu.emulator.lanes import Lanes

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

Addresses = NDArray[np.uint64]


@dataclass(frozen=True)
class Request:
    """Lanes, their addresses, the bytes that each takes, and `what`: read, write, volatile read, atomic."""

    chunk: "Chunk"
    lanes: Lanes
    address: Addresses
    width: int
    what: str

    def part(self, chosen: NDArray[np.bool_]) -> "Request":
        """Return the request of some of its lanes."""
        lanes = Lanes(self.lanes.index[chosen], False)
        return Request(self.chunk, lanes, self.address[chosen], self.width, self.what)

    def fault(self, kind: FaultKind, message: str, at: int) -> LaunchFault:
        """Return the fault of the lane at this place."""
        return self.chunk.fault(kind, message, self.lanes, at)

    def check_alignment(self, space: str) -> None:
        """Refuse an address that is no multiple of the access."""
        odd = self.address & np.uint64(self.width - 1)
        if odd.any():
            at = int(np.flatnonzero(odd)[0])
            beyond = f"at an address {int(odd[at])} beyond a multiple"
            message = f"{self.what} of {self.width} bytes in {space} memory {beyond}"
            raise self.fault(FaultKind.MISALIGNED, message, at)
