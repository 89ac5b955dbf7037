"""Rounding to narrower floats and to integers, in each of PTX's directions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.value_types import DTYPES, Array

_TO_INTEGER: dict[str, Any] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def to_whole(values: Array, mode: str) -> Array:
    """Return floats rounded to whole numbers: `rni` even, `rzi` to zero, `rmi` down, `rpi` up."""
    rounded: Array = _TO_INTEGER[mode](values)
    return rounded


def narrow(values: Array, type_name: str, mode: str) -> Array:
    """Return floats rounded to f64, f32, f16, bf16 (as bits) or tf32 (as bits); `mode`: rn, rna, rz, rm, rp."""
    if type_name in ("bf16", "tf32"):
        return _narrow_bits(_to_float32(values), type_name, mode)
    dtype = DTYPES[type_name]
    nearest = values.astype(dtype)
    if mode == "rn" or dtype.itemsize >= values.dtype.itemsize:
        return nearest
    back = nearest.astype(values.dtype)
    zero, infinity = dtype.type(0), dtype.type(np.inf)
    if mode == "rz":
        return np.where(np.abs(back) > np.abs(values), np.nextafter(nearest, zero), nearest)
    if mode == "rm":
        return np.where(back > values, np.nextafter(nearest, -infinity), nearest)
    return np.where(back < values, np.nextafter(nearest, infinity), nearest)


def _to_float32(values: Array) -> NDArray[np.float32]:
    """Return doubles as floats rounded to odd, so that the next rounding is the only one; floats as they are."""
    nearest = values.astype(np.float32)
    if values.dtype != np.float64:
        return nearest
    back = nearest.astype(np.float64)
    bits = nearest.view(np.uint32)
    down = np.where(np.abs(back) > np.abs(values), bits - np.uint32(1), bits)
    odd = np.where((back != values) & ~np.isnan(values), down | np.uint32(1), bits)
    return odd.view(np.float32)


def _narrow_bits(values: NDArray[np.float32], type_name: str, mode: str) -> Array:
    """Cut a float's last bits: 16 for bfloat16, 13 for tf32."""
    dropped = 16 if type_name == "bf16" else 13
    bits: Array = values.view(np.uint32)
    one = np.uint32(1)
    last: Array = bits >> np.uint32(dropped) & one
    ulp, all_below = np.uint32(1 << dropped), np.uint32((1 << dropped) - 1)
    half = np.uint32(1 << (dropped - 1))
    is_negative = bits >> np.uint32(31) != 0
    choices: dict[str, Any] = {
        "rn": last + (half - one),
        "rna": half,
        "rz": np.uint32(0),
        "rm": np.where(is_negative, all_below, np.uint32(0)),
        "rp": np.where(is_negative, np.uint32(0), all_below),
    }
    added: Array = choices[mode]
    kept = np.where(np.isinf(values), bits, bits + added) & ~(ulp - one)
    kept = np.where(np.isnan(values), np.uint32(0x7FFF_FFFF) & ~(ulp - one), kept).astype(np.uint32)
    return (kept >> np.uint32(16)).astype(np.uint16) if type_name == "bf16" else kept


def to_integer(values: Array, type_name: str, source_bits: int) -> Array:
    """Return whole floats as integers, clamped to the type's range.

    NaN is 0, but between 64-bit types (either side) the upper bit alone (PTX ISA, `cvt`).
    """
    dtype = DTYPES[type_name]
    limits = np.iinfo(dtype)
    wide = values.astype(np.float64)
    is_high, is_low, is_nan = wide >= float(limits.max), wide <= float(limits.min), np.isnan(wide)
    inside = np.where(is_high | is_low | is_nan, 0.0, wide).astype(dtype)
    clamped = np.where(is_high, dtype.type(limits.max), np.where(is_low, dtype.type(limits.min), inside))
    is_wide = source_bits == 64 or dtype.itemsize == 8
    top_bit = np.array([1], np.uint64) << np.uint64(limits.bits - 1)
    nan = top_bit.astype(dtype)[0] if is_wide else dtype.type(0)
    return np.where(is_nan, nan, clamped).astype(dtype)
