"""The emulator as a device: it can show that a kernel is wrong, never how fast it is."""

from typing import Any

from numpy.typing import NDArray

from native_bench.gpu.device import DeviceBuffer, DeviceBuild, DeviceLaunch, LoadedModule
from native_bench.gpu.emulator import Argument, Budget, Buffer, DeviceMemory, LaunchCost, Module, load_module
from submissions.evaluation.verdicts import Evidence


class EmulatedDevice:
    """Device memory and budget of one run. Raises LaunchFault and Unsupported, see `emulator`."""

    name = "PTX emulator"
    evidence = Evidence.EMULATED

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._memory = DeviceMemory(self._budget.memory_bytes)
        self._cost: LaunchCost | None = None

    @property
    def cost(self) -> LaunchCost | None:
        """Return what the last launch executed; no measure of time."""
        return self._cost

    def load(self, build: DeviceBuild) -> Module:
        """Decode the build's PTX; raises Unsupported for instructions that are not emulated."""
        return load_module(build.ptx)

    def allocate(
        self, nbytes: int, name: str, is_read_only: bool = False, content: NDArray[Any] | None = None
    ) -> Buffer:
        """Return memory with this content, or poisoned."""
        if content is None:
            return self._memory.allocate(nbytes, name, is_read_only)
        return self._memory.allocate(nbytes, name, is_read_only, content)

    def launch(self, module: LoadedModule, launch: DeviceLaunch) -> None:
        """Run a kernel to its end."""
        own = _own_module(module)
        arguments = [_own_argument(argument) for argument in launch.arguments]
        self._cost = None
        self._cost = own.launch(
            launch.symbol,
            launch.grid,
            launch.block,
            launch.shared_bytes,
            arguments,
            self._memory,
            self._budget,
        )

    def fetch(self, buffer: DeviceBuffer, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return a copy of a buffer's content."""
        return self._memory.fetch(_own_buffer(buffer), dtype, shape)

    def elapsed_ns(self) -> None:
        """Return None: an emulated launch has no time."""


def _own_module(module: LoadedModule) -> Module:
    if not isinstance(module, Module):
        raise TypeError(f"a module of another device: {type(module).__name__}")
    return module


def _own_buffer(buffer: DeviceBuffer) -> Buffer:
    if not isinstance(buffer, Buffer):
        raise TypeError(f"a buffer of another device: {type(buffer).__name__}")
    return buffer


def _own_argument(argument: Any) -> Argument:
    return argument if isinstance(argument, bytes) or hasattr(argument, "dtype") else _own_buffer(argument)
