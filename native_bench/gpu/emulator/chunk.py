"""The threads of some blocks that run side by side: who they are, what they hold, when they last met."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.faults import Fault, FaultKind, LaunchFault, Place
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.memory import RANGE_BITS, Buffer, DeviceMemory
from native_bench.gpu.emulator.program import Program
from native_bench.gpu.emulator.races import AccessTable, Identities
from native_bench.gpu.emulator.registers import RegisterFile
from native_bench.gpu.emulator.request import Addresses
from native_bench.gpu.emulator.spaces import GlobalSpace, LocalSpace, SharedSpace, Space
from native_bench.gpu.emulator.special import SPECIAL_REGISTERS
from native_bench.gpu.emulator.value_types import Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.async_copy import PendingCopies

_OFFSET = (1 << RANGE_BITS) - 1


@dataclass(eq=False)
class Launch:
    """What all chunks of a launch share."""

    program: Program
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    memory: DeviceMemory
    variables: dict[str, Buffer]
    parameters: dict[str, bytes]
    parameter_buffers: dict[str, Buffer]
    names: dict[int, str]
    identities: Identities
    table: AccessTable

    @property
    def threads_per_block(self) -> int:
        """Return the threads of one block."""
        x, y, z = self.block
        return x * y * z

    def buffer_name(self, range_number: int) -> str:
        """Return what to call a buffer in a message: its argument, or its own name."""
        buffer = self.memory.buffer_of(range_number)
        own = buffer.name if buffer is not None else "nothing"
        return self.names.get(range_number, own)

    def thread_at(self, linear: int) -> tuple[int, int, int]:
        """Return a thread's index in its block."""
        return _along(self.block, linear)

    def block_at(self, linear: int) -> tuple[int, int, int]:
        """Return a block's index in the grid."""
        return _along(self.grid, linear)


def _along(extents: tuple[int, int, int], linear: int) -> tuple[int, int, int]:
    x, y, _ = extents
    return linear % x, linear // x % y, linear // (x * y)


class Chunk:
    """The state of `last - first` blocks. A lane's number is its place among their threads."""

    def __init__(self, launch: Launch, first: int, last: int, start_time: int) -> None:
        per_block = launch.threads_per_block
        self.launch: Launch = launch
        self.identities = launch.identities
        self.block_count = last - first
        self.lane_count = per_block * self.block_count
        self.row = np.repeat(np.arange(self.block_count), per_block)
        self.block = self.row + first
        self.thread: NDArray[np.int64] = np.tile(np.arange(per_block), self.block_count)
        self.code = self.block * per_block + self.thread
        # A lane's place among whole warps: blocks whose last warp is short leave gaps.
        self.warps_per_block = -(-per_block // 32)
        self.slot = self.row * (32 * self.warps_per_block) + self.thread
        self.warp_count = self.block_count * self.warps_per_block
        self.registers = RegisterFile(launch.program.register_dtypes, self.lane_count)
        self.block_sync = np.full(self.lane_count, start_time, np.int64)
        self.warp_sync = np.full(self.lane_count, start_time, np.int64)
        self.carry = np.zeros(self.lane_count, np.bool_)
        self.is_live = np.ones(self.lane_count, np.bool_)
        self.now = start_time
        self.granule = launch.program.granule
        self.place = Place()
        self.copies: PendingCopies | None = None
        self._special: dict[str, Array] = {}
        self._spaces: dict[str, Space] = {}

    def special(self, name: str) -> Array:
        """Return a special register, one entry a lane or one for all."""
        if name not in self._special:
            self._special[name] = SPECIAL_REGISTERS[name](self)
        return self._special[name]

    def address_of(self, name: str) -> int:
        """Return a variable's address in its own state space."""
        program, launch = self.launch.program, self.launch
        if name in program.local.offsets:
            return program.local.offsets[name]
        shared = program.shared_layout(launch.shared_bytes)
        if name in shared.offsets:
            return shared.offsets[name]
        return (launch.parameter_buffers.get(name) or launch.variables[name]).address

    def space(self, name: str) -> Space:
        """Return a state space, made when first used."""
        name = "global" if name == "const" else name
        if name not in self._spaces:
            self._spaces[name] = self._make_space(name)
        return self._spaces[name]

    def _make_space(self, name: str) -> Space:
        program = self.launch.program
        if name == "shared":
            layout = program.shared_layout(self.launch.shared_bytes)
            return SharedSpace(layout, self.block_count, self.granule)
        if name == "local":
            return LocalSpace(program.local, self.lane_count)
        return GlobalSpace(self, self.launch.memory, self.launch.table)

    def is_read_only(self, address: Addresses) -> bool:
        """Whether all these global addresses are in one buffer that no kernel may write."""
        ranges = address >> np.uint64(RANGE_BITS)
        buffer = self.launch.memory.buffer_of(int(ranges[0]))
        return buffer is not None and buffer.is_read_only and bool((ranges == ranges[0]).all())

    def note_acquire(self, lanes: Lanes) -> None:
        """Note that these lanes made an atomic or volatile access."""
        self.identities.acquire_time[lanes.of(self.block)] = self.now

    def note_fence(self, lanes: Lanes) -> None:
        """Note that these lanes executed a fence."""
        self.identities.fence_time[lanes.of(self.block)] = self.now

    def present(self, lanes: Lanes) -> NDArray[np.uint32]:
        """Return for each warp of the chunk the mask of these lanes."""
        flags = np.zeros(self.warp_count * 32, np.bool_)
        flags[lanes.of(self.slot)] = True
        packed = np.packbits(flags.reshape(-1, 32), axis=1, bitorder="little")
        return np.ascontiguousarray(packed).view(np.uint32)[:, 0]

    def describe(self, space: str, address: int) -> str:
        """Return an address as a byte of a variable."""
        layouts = {
            "shared": self.launch.program.shared_layout(self.launch.shared_bytes),
            "local": self.launch.program.local,
        }
        if space in layouts:
            return layouts[space].described(address & _OFFSET)
        offset = (address & _OFFSET) - (1 << (RANGE_BITS - 1))
        return f"byte {offset} of {self.launch.buffer_name(address >> RANGE_BITS)}"

    def fault(self, kind: FaultKind, message: str, lanes: Lanes, at: int = 0) -> LaunchFault:
        """Return the fault of the lane at this place among `lanes`, at the instruction that runs now."""
        lane = int(lanes.index[at])
        launch = self.launch
        return LaunchFault(
            Fault(
                kind,
                message,
                self.place.file,
                self.place.line,
                launch.block_at(int(self.block[lane])),
                launch.thread_at(int(self.thread[lane])),
            )
        )
