"""The element types a tensor or scalar may have."""

from collections.abc import Mapping

DTYPE_BYTES: Mapping[str, int] = {
    "fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2,
    "i8": 1, "i16": 2, "i32": 4, "i64": 8,
    "u8": 1, "u16": 2, "u32": 4, "u64": 8,
}  # fmt: skip


# The largest finite value of each.
_FLOAT_MAXIMUM: Mapping[str, float] = {
    "fp64": (2 - 2.0**-52) * 2.0**1023,
    "fp32": (2 - 2.0**-23) * 2.0**127,
    "fp16": (2 - 2.0**-10) * 2.0**15,
    "bf16": (2 - 2.0**-7) * 2.0**127,
}


def is_float(dtype: str) -> bool:
    return dtype in _FLOAT_MAXIMUM


def float_maximum(dtype: str) -> float:
    """Return the largest finite value of a float dtype."""
    return _FLOAT_MAXIMUM[dtype]


def integer_range(dtype: str) -> tuple[int, int]:
    """Return the least and greatest value of an integer dtype."""
    bits = 8 * DTYPE_BYTES[dtype]
    return (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
