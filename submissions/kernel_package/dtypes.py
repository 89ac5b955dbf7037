"""The element types a tensor or scalar may have."""

from collections.abc import Mapping

DTYPE_BYTES: Mapping[str, int] = {
    "fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2,
    "i8": 1, "i16": 2, "i32": 4, "i64": 8,
    "u8": 1, "u16": 2, "u32": 4, "u64": 8,
}  # fmt: skip


def is_float(dtype: str) -> bool:
    return dtype in ("fp64", "fp32", "fp16", "bf16")


def integer_range(dtype: str) -> tuple[int, int]:
    """Return the least and greatest value of an integer dtype."""
    bits = 8 * DTYPE_BYTES[dtype]
    return (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
