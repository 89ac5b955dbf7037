"""What runs CUDA kernels, a GPU or the emulator: load a build, allocate, launch, fetch. No CUDA here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from submissions.evaluation.verdicts import Evidence

Extents = tuple[int, int, int]


class DeviceBuffer(Protocol):
    """A piece of device memory. Passed to a kernel it is a pointer."""

    @property
    def name(self) -> str:
        """Return what messages call it."""

    @property
    def nbytes(self) -> int:
        """Return its size."""


# A pointer, a scalar whose numpy type is the parameter's C type, or a struct's bytes.
DeviceArgument = DeviceBuffer | np.generic | bytes


@dataclass(frozen=True)
class DeviceLaunch:
    """One launch: `symbol` is the kernel's lowered name, `arguments` stand in the order of its parameters."""

    symbol: str
    grid: Extents
    block: Extents
    shared_bytes: int
    arguments: Sequence[DeviceArgument]


class DeviceBuild(Protocol):
    """What a device loads of a compiler's output: a GPU takes the cubin, the emulator the PTX."""

    @property
    def cubin(self) -> bytes:
        """Return the machine code."""

    @property
    def ptx(self) -> str:
        """Return the PTX that it was assembled from."""


class LoadedModule(Protocol):
    """A build on a device, ready to launch."""

    @property
    def kernels(self) -> Sequence[str]:
        """Return the symbols that can be launched."""


class CudaDevice(Protocol):
    """A GPU, or the emulator in its place. `evidence` says what a result on it proves."""

    @property
    def name(self) -> str:
        """Return the device's name for records."""

    @property
    def evidence(self) -> Evidence:
        """Return `measured` for a GPU, `emulated` for the emulator."""

    def load(self, build: DeviceBuild) -> LoadedModule:
        """Load a build's module."""

    def allocate(
        self, nbytes: int, name: str, is_read_only: bool = False, content: NDArray[Any] | None = None
    ) -> DeviceBuffer:
        """Return memory with this content, or poisoned. A kernel must not write to what is read-only."""

    def launch(self, module: LoadedModule, launch: DeviceLaunch) -> None:
        """Run a kernel and wait for its end."""

    def fetch(self, buffer: DeviceBuffer, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return a copy of a buffer's content."""

    def elapsed_ns(self) -> float | None:
        """Return how long the last launch took on the device; None where nothing was measured."""
