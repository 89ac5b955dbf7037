"""The type of what an instruction does to the lanes of a chunk."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from native_bench.gpu.emulator.lanes import Lanes

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

Execute = Callable[["Chunk", Lanes], None]
