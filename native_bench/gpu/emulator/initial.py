"""Initial values of module variables: PTX literals to bytes and addresses."""

import re

import numpy as np

from native_bench.gpu.emulator.faults import Unsupported
from native_bench.gpu.emulator.value_types import DTYPES, size_of, unsigned

_SYMBOL = re.compile(r"(?:generic\s*\(\s*)?([A-Za-z_$%][\w$]*)\s*\)?\s*(?:\+\s*(\d+))?$")


def literal_bits(text: str, type_name: str) -> int:
    """Return the bits of a literal read as this type: `12`, `-1`, `0xFFU`, `0f3F800000`, `0d…`.

    Raises ValueError for what is no literal.
    """
    prefix = text[:2].lower()
    width = 8 * size_of(type_name)
    if prefix == "0f" and len(text) == 10:
        return _float_bits(float(np.uint32(int(text[2:], 16)).view(np.float32)), int(text[2:], 16), 32, type_name)
    if prefix == "0d" and len(text) == 18:
        return _float_bits(float(np.uint64(int(text[2:], 16)).view(np.float64)), int(text[2:], 16), 64, type_name)
    if re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", text):
        return _float_bits(float(text), 0, 0, type_name)
    digits = text.rstrip("uU")
    value = int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    return value & ((1 << width) - 1)


def _float_bits(value: float, bits: int, bits_width: int, type_name: str) -> int:
    dtype = DTYPES[type_name]
    if bits_width == 8 * dtype.itemsize:
        return bits
    if dtype.kind != "f":
        raise ValueError(f"a floating literal where {type_name} is expected")
    return int(np.asarray(value, dtype).view(unsigned(8 * dtype.itemsize))[()])


def initial_bytes(text: str, type_name: str) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
    """Return the bytes of an initial value and the (offset, symbol, addend) of the addresses in it."""
    out, pointers = bytearray(), []
    size = size_of(type_name)
    for item in (part.strip() for part in re.sub(r"[{}]", " ", text).split(",")):
        if not item:
            continue
        try:
            out += literal_bits(item, type_name).to_bytes(size, "little")
        except ValueError:
            match = _SYMBOL.match(item)
            if match is None or size != 8:
                raise Unsupported(f"initial value {item!r}") from None
            pointers.append((len(out), match[1], int(match[2] or 0)))
            out += bytes(8)
    return bytes(out), tuple(pointers)
