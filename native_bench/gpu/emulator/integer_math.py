"""Integer arithmetic: PTX ISA chapter "Integer Arithmetic Instructions"."""

import numpy as np

from native_bench.gpu.emulator.entry import Compute, Factory, plain, pure, words
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import Array, signed, unsigned

_ALL = words("u16 s16 u32 s32 u64 s64")
_SIGNED = words("s16 s32 s64")
_NARROW = words("u16 s16 u32 s32")


def _wide(x: Array, y: Array) -> Array:
    dtype = np.dtype(f"{x.dtype.kind}{2 * x.dtype.itemsize}")
    answer: Array = x.astype(dtype) * y.astype(dtype)
    return answer


def high_product(x: Array, y: Array) -> Array:
    """Return the upper half of the product."""
    width = 8 * x.dtype.itemsize
    if width < 64:
        return (_wide(x, y) >> width).astype(x.dtype)
    high = _high_unsigned(x.view(np.uint64), y.view(np.uint64))
    if x.dtype.kind == "i":
        # (x - 2^64)(y) = xy - 2^64 y: a negative factor takes the other one from the upper half.
        high = high - np.where(x < 0, y, 0).astype(np.int64).view(np.uint64)
        high = high - np.where(y < 0, x, 0).astype(np.int64).view(np.uint64)
    return high.view(x.dtype)


def _high_unsigned(x: Array, y: Array) -> Array:
    low, half = np.uint64(0xFFFF_FFFF), np.uint64(32)
    x_low, x_high, y_low, y_high = x & low, x >> half, y & low, y >> half
    middle = x_high * y_low + (x_low * y_low >> half)
    cross = x_low * y_high + (middle & low)
    answer: Array = x_high * y_high + (middle >> half) + (cross >> half)
    return answer


def _quotient(x: Array, y: Array) -> Array:
    """Divide towards zero; a division by zero gives all bits set, as the hardware does."""
    x, y = np.broadcast_arrays(x, y)
    divisor = np.where(y == 0, 1, y).astype(x.dtype)
    floor = x // divisor
    if x.dtype.kind == "i":
        remainder = x - floor * divisor
        floor = floor + ((remainder != 0) & ((x < 0) != (divisor < 0)))
    return np.where(y == 0, np.array(-1).astype(x.dtype), floor).astype(x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    return np.where(y == 0, x, x - _quotient(x, y) * y).astype(x.dtype)


def _saturating(combine: Compute) -> Factory:
    """Return plain wrapping arithmetic, or with `.sat` (s32 only) clamped."""

    def factory(site: Site) -> Compute:
        if "sat" not in site.modifiers:
            return combine
        if site.type != "s32":
            raise site.unsupported("saturation")
        limits = np.iinfo(np.int32)
        return lambda *values: np.clip(
            combine(*(value.astype(np.int64) for value in values)), limits.min, limits.max
        ).astype(np.int32)

    return factory


def _dot4(site: Site) -> Compute:
    x_type, y_type = (np.dtype("i1" if name[0] == "s" else "u1") for name in site.types)

    def compute(x: Array, y: Array, addend: Array) -> Array:
        x, y, addend = np.broadcast_arrays(x, y, addend)
        left = np.ascontiguousarray(x).view(x_type).reshape(*x.shape, 4).astype(np.int64)
        right = np.ascontiguousarray(y).view(y_type).reshape(*y.shape, 4).astype(np.int64)
        answer: Array = (left * right).sum(-1).astype(np.uint32) + addend
        return answer

    return compute


def _dot2(site: Site) -> Compute:
    x_type, y_type = (np.dtype("i2" if name[0] == "s" else "u2") for name in site.types)
    half = slice(0, 2) if "lo" in site.modifiers else slice(2, 4)

    def compute(x: Array, y: Array, addend: Array) -> Array:
        x, y, addend = np.broadcast_arrays(x, y, addend)
        left = np.ascontiguousarray(x).view(x_type).reshape(*x.shape, 2).astype(np.int64)
        right = np.ascontiguousarray(y).view(np.dtype(y_type.kind + "1")).reshape(*y.shape, 4)[..., half]
        answer: Array = (left * right.astype(np.int64)).sum(-1).astype(np.uint32) + addend
        return answer

    return compute


def _distance(x: Array, y: Array, addend: Array) -> Array:
    gap = np.where(x > y, x - y, y - x).astype(x.dtype)
    answer: Array = (gap.view(unsigned(8 * x.dtype.itemsize)) + addend.view(unsigned(8 * x.dtype.itemsize))).view(
        x.dtype
    )
    return answer


def _product24(x: Array, y: Array) -> Array:
    wide, keep = signed(64) if x.dtype.kind == "i" else unsigned(64), 40
    return (x.astype(wide) << keep >> keep) * (y.astype(wide) << keep >> keep)


def _low24(x: Array, y: Array) -> Array:
    return _product24(x, y).astype(x.dtype)


ENTRIES = (
    pure("add", _ALL, _saturating(lambda x, y: x + y), "0 0 -> 0", "sat"),
    pure("sub", _ALL, _saturating(lambda x, y: x - y), "0 0 -> 0", "sat"),
    pure("mul.lo", _ALL, plain(lambda x, y: x * y), "0 0 -> 0"),
    pure("mul.hi", _ALL, plain(high_product), "0 0 -> 0"),
    pure("mul.wide", _NARROW, plain(_wide), "0 0 -> w"),
    pure("mad.lo", _ALL, plain(lambda x, y, z: x * y + z), "0 0 0 -> 0"),
    pure("mad.hi", _ALL, plain(lambda x, y, z: high_product(x, y) + z), "0 0 0 -> 0"),
    pure("mad.wide", _NARROW, plain(lambda x, y, z: _wide(x, y) + z), "0 0 w -> w"),
    pure("mul24.lo", words("u32 s32"), plain(_low24), "0 0 -> 0"),
    pure("mad24.lo", words("u32 s32"), plain(lambda x, y, z: _low24(x, y) + z), "0 0 0 -> 0"),
    pure("div", _ALL, plain(_quotient), "0 0 -> 0"),
    pure("rem", _ALL, plain(_remainder), "0 0 -> 0"),
    pure("abs", _SIGNED, plain(np.abs), "0 -> 0"),
    pure("neg", _SIGNED, plain(np.negative), "0 -> 0"),
    pure("min", _ALL, plain(np.minimum), "0 0 -> 0"),
    pure("max", _ALL, plain(np.maximum), "0 0 -> 0"),
    pure("sad", _ALL, plain(_distance), "0 0 0 -> 0"),
    pure("dp4a", words("u32.u32 u32.s32 s32.u32 s32.s32"), _dot4, "b32 b32 u32 -> u32"),
    pure("dp2a.lo", words("u32.u32 u32.s32 s32.u32 s32.s32"), _dot2, "b32 b32 u32 -> u32"),
    pure("dp2a.hi", words("u32.u32 u32.s32 s32.u32 s32.s32"), _dot2, "b32 b32 u32 -> u32"),
)
