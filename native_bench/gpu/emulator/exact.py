"""Fused multiply-add with one rounding, on hardware that numpy gives no fused instruction.

Error-free sums and products after Dekker and Knuth; rounding to odd after Boldo and Melquiond, "Emulation of FMA
and correctly rounded sums: proved algorithms using rounding to odd" (IEEE Trans. Computers, 2008).
"""

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.value_types import Array

Doubles = NDArray[np.float64]

_SPLITTER = 134217729.0  # 2^27 + 1
# What a double has beyond a float's 24 bits: these patterns lie midway between two floats.
_BEYOND_FLOAT = np.int64(0x1FFF_FFFF)
_MIDWAY = np.int64(0x1000_0000)
_LEAST_FLOAT = float(np.finfo(np.float32).tiny)


def sum_error(x: Doubles, y: Doubles, total: Doubles) -> Doubles:
    """Return the exact x + y - total, where total is the rounded sum."""
    other = total - x
    return (x - (total - other)) + (y - other)


def product_error(x: Doubles, y: Doubles, product: Doubles) -> Doubles:
    """Return the exact x * y - product, where product is the rounded one and nothing over- or underflows."""
    x_high, y_high = _high_part(x), _high_part(y)
    x_low, y_low = x - x_high, y - y_high
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _high_part(x: Doubles) -> Doubles:
    scaled = _SPLITTER * x
    return scaled - (scaled - x)


def to_odd(total: Doubles, error: Doubles) -> Doubles:
    """Return total, or if error is not 0 its neighbour with an odd last bit: a later rounding is then right."""
    bits = total.view(np.int64)
    is_even = (error != 0) & ((bits & 1) == 0) & np.isfinite(total)
    grows = (error > 0) == (total > 0)
    moved = np.where(total == 0, bits, np.where(grows, bits + 1, bits - 1))
    return np.where(is_even, moved, bits).view(np.float64)


def fused_to_odd(x: Array, y: Array, z: Array) -> Doubles:
    """Return x * y + z of floats or halves in a double, rounded to odd: round it once more and it is exact."""
    product = x.astype(np.float64) * y.astype(np.float64)
    addend = z.astype(np.float64)
    total = product + addend
    return to_odd(total, sum_error(product, addend, total))


def fused32(x: Array, y: Array, z: Array) -> NDArray[np.float32]:
    """Return x * y + z of floats, rounded once."""
    product = x.astype(np.float64) * y
    total = product + z
    # Only a double midway between two floats, or below the normal floats, can be rounded wrongly twice.
    is_doubtful = (total.view(np.int64) & _BEYOND_FLOAT) == _MIDWAY
    is_doubtful |= np.abs(total) < _LEAST_FLOAT
    out = total.astype(np.float32)
    if is_doubtful.any():
        at = np.flatnonzero(is_doubtful)
        left, right = (np.broadcast_to(part, total.shape)[at].astype(np.float64) for part in (product, z))
        out[at] = to_odd(total[at], sum_error(left, right, total[at])).astype(np.float32)
    return out


def fused64(x: Array, y: Array, z: Array) -> Doubles:
    """Return x * y + z of doubles, rounded once; beyond 2^±480 the product is rounded before."""
    x, y, z = np.broadcast_arrays(x, y, z)
    product = x * y
    simple = product + z
    scale = np.abs(np.stack([x, y, z, product]))
    is_safe = ((scale == 0) | ((scale > 2.0**-480) & (scale < 2.0**480))).all(0)
    low = product_error(x, y, product)
    inner = z + low
    inner_error = sum_error(z, low, inner)
    upper = product + inner
    upper_error = sum_error(product, inner, upper)
    rest = upper_error + inner_error
    odd = to_odd(rest, sum_error(upper_error, inner_error, rest))
    return np.where(is_safe & (product != 0), upper + odd, simple)
