"""PTX's scalar types and the numpy types that hold them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_WIDTHS = (8, 16, 32, 64)
_UNSIGNED: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
}
_SIGNED: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}

# bfloat16 and the packed pairs travel as their bits: numpy has no such type.
DTYPES: dict[str, np.dtype[Any]] = {
    **{f"b{width}": _UNSIGNED[width] for width in _WIDTHS},
    **{f"u{width}": _UNSIGNED[width] for width in _WIDTHS},
    **{f"s{width}": _SIGNED[width] for width in _WIDTHS},
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(np.uint16),
    "tf32": np.dtype(np.uint32),
    "f16x2": np.dtype(np.uint32),
    "bf16x2": np.dtype(np.uint32),
    "pred": np.dtype(np.bool_),
}


def unsigned(width_bits: int) -> np.dtype[Any]:
    """Return the unsigned type of this many bits."""
    return _UNSIGNED[width_bits]


def signed(width_bits: int) -> np.dtype[Any]:
    """Return the signed type of this many bits."""
    return _SIGNED[width_bits]


def size_of(type_name: str) -> int:
    """Return the bytes of a type."""
    return DTYPES[type_name].itemsize


def bits_of(type_name: str) -> int:
    """Return the bits of a type."""
    return 8 * DTYPES[type_name].itemsize
