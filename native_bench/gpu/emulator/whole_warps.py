"""Registers of whole warps as matrices: what tensor core instructions work on."""

from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.faults import FaultKind
from native_bench.gpu.emulator.half_math import widened
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.operands import Source, Target
from native_bench.gpu.emulator.rounding import narrow
from native_bench.gpu.emulator.value_types import DTYPES, Array
from native_bench.gpu.emulator.warps import warps_of

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

# Tensor cores take a float's upper 19 bits as tf32.
_TF32 = np.uint32(0xFFFF_E000)


def check_whole(chunk: "Chunk", lanes: Lanes) -> int:
    """Return how many warps these lanes are; raises LaunchFault where a warp lacks a lane."""
    present = chunk.present(lanes)[warps_of(chunk, lanes)]
    lacking = np.flatnonzero(present != 0xFFFF_FFFF)
    if lacking.size:
        at = int(lacking[0])
        message = f"a matrix instruction needs all 32 lanes of the warp, here are {int(present[at]):#x}"
        raise chunk.fault(FaultKind.WARP_MASK, message, lanes, at)
    return len(lanes) // 32


def read_elements(chunk: "Chunk", lanes: Lanes, sources: list[Source], type_name: str) -> Array:
    """Return the elements in the lanes' registers, (warps, 32, elements), as their bits."""
    registers = [lanes.spread(source.read(chunk, lanes)) for source in sources]
    stacked = np.ascontiguousarray(np.stack(registers, axis=1))
    return stacked.view(DTYPES[type_name]).reshape(-1, 32, stacked.shape[1] * _per_register(stacked, type_name))


def _per_register(stacked: Array, type_name: str) -> int:
    return stacked.dtype.itemsize // DTYPES[type_name].itemsize


def write_elements(chunk: "Chunk", lanes: Lanes, targets: list[Target], elements: Array) -> None:
    """Write elements (warps, 32, elements) to the lanes' registers."""
    flat = np.ascontiguousarray(elements.reshape(len(lanes), -1))
    width = flat.shape[1] * flat.dtype.itemsize // len(targets)
    registers = flat.view(np.dtype(f"u{width}"))
    for at, target in enumerate(targets):
        target.write(chunk, lanes, registers[:, at].copy())


def as_numbers(elements: Array, type_name: str) -> Array:
    """Return elements as doubles, or as 64-bit integers: products and sums of them are exact or nearly so."""
    if type_name in ("f16", "bf16"):
        return widened(elements, type_name).astype(np.float64)
    if type_name == "tf32":
        return (elements & _TF32).view(np.float32).astype(np.float64)
    return elements.astype(np.int64 if elements.dtype.kind in "iu" else np.float64)


def as_elements(numbers: Array, type_name: str, saturates: bool = False) -> Array:
    """Return numbers rounded once to a type; integers wrap unless they saturate."""
    dtype = DTYPES[type_name]
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return (np.clip(numbers, limits.min, limits.max) if saturates else numbers).astype(dtype)
    return narrow(numbers, type_name, "rn")
