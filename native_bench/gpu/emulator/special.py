"""The special registers: who a thread is. Clocks are not among them: an emulated launch has no time."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.value_types import Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk


def _along(axis: int, extents: tuple[int, int, int], linear: Array) -> Array:
    x, y, _ = extents
    return (linear % x, linear // x % y, linear // (x * y))[axis]


def _tid(axis: int) -> Callable[["Chunk"], Array]:
    return lambda chunk: _along(axis, chunk.launch.block, chunk.thread)


def _ctaid(axis: int) -> Callable[["Chunk"], Array]:
    return lambda chunk: _along(axis, chunk.launch.grid, chunk.block)


def _ntid(axis: int) -> Callable[["Chunk"], Array]:
    return lambda chunk: np.array([chunk.launch.block[axis]])


def _nctaid(axis: int) -> Callable[["Chunk"], Array]:
    return lambda chunk: np.array([chunk.launch.grid[axis]])


def _lane(chunk: "Chunk") -> Array:
    return chunk.thread & 31


def _lane_mask(mask: Callable[[Array], Array]) -> Callable[["Chunk"], Array]:
    return lambda chunk: mask(np.int64(1) << (chunk.thread & 31).astype(np.int64)) & 0xFFFF_FFFF


SPECIAL_REGISTERS: dict[str, Callable[["Chunk"], Array]] = {
    **{f"%tid.{name}": _tid(axis) for axis, name in enumerate("xyz")},
    **{f"%ntid.{name}": _ntid(axis) for axis, name in enumerate("xyz")},
    **{f"%ctaid.{name}": _ctaid(axis) for axis, name in enumerate("xyz")},
    **{f"%nctaid.{name}": _nctaid(axis) for axis, name in enumerate("xyz")},
    "%laneid": _lane,
    "%warpid": lambda chunk: chunk.thread >> 5,
    "%nwarpid": lambda chunk: np.array([-(-chunk.launch.threads_per_block // 32)]),
    "%lanemask_eq": _lane_mask(lambda bit: bit),
    "%lanemask_lt": _lane_mask(lambda bit: bit - 1),
    "%lanemask_le": _lane_mask(lambda bit: 2 * bit - 1),
    "%lanemask_gt": _lane_mask(lambda bit: -2 * bit),
    "%lanemask_ge": _lane_mask(lambda bit: -bit),
    "%dynamic_smem_size": lambda chunk: np.array([chunk.launch.shared_bytes]),
    "WARP_SZ": lambda chunk: np.array([32]),
}
