"""Exact arithmetic to judge the emulator by: fractions rounded once, in any format and direction."""

from fractions import Fraction
from math import inf

import numpy as np

# Bits of the significand, least and greatest exponent of normal numbers.
FORMATS = {
    "f16": (11, -14, 15),
    "bf16": (8, -126, 127),
    "tf32": (11, -126, 127),
    "f32": (24, -126, 127),
    "f64": (53, -1022, 1023),
}


def rounded(value: Fraction, name: str, mode: str = "rn") -> float:
    """Return a fraction rounded to a format; `mode`: rn, rna, rz, rm, rp."""
    digits, least, most = FORMATS[name]
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = max(_exponent(magnitude), least)
    ulp = Fraction(2) ** (exponent - digits + 1)
    whole, rest = divmod(magnitude / ulp, 1)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rna": rest >= Fraction(1, 2),
        "rz": False,
        "rm": rest > 0 and value < 0,
        "rp": rest > 0 and value > 0,
    }[mode]
    result = (whole + up) * ulp
    if result >= Fraction(2) ** (most + 1):
        stays = mode == "rz" or (mode == "rm" and value > 0) or (mode == "rp" and value < 0)
        result = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** most if stays else inf
    return float(result) if value > 0 else -float(result)


def _exponent(magnitude: Fraction) -> int:
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if Fraction(2) ** guess <= magnitude else guess - 1


def wrapped(value: int, name: str) -> int:
    """Return an integer as a type of this many bits holds it."""
    bits = int(name[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if name[0] == "s" and value >> (bits - 1) else value


def to_bits(values: list[float], name: str) -> np.ndarray:
    """Return numbers of a format as the bits that registers hold."""
    if name in ("bf16", "tf32"):
        bits = np.array(values, np.float32).view(np.uint32)
        return (bits >> 16).astype(np.uint16) if name == "bf16" else bits
    width = {"f16": 2, "f32": 4, "f64": 8}[name]
    return np.array(values, f"f{width}").view(f"u{width}")


def from_bits(bits: np.ndarray, name: str) -> np.ndarray:
    """Return the numbers that bits of a format stand for."""
    if name in ("bf16", "tf32"):
        return (bits.astype(np.uint32) << (16 if name == "bf16" else 0)).view(np.float32).astype(np.float64)
    return np.ascontiguousarray(bits).view(f"f{bits.dtype.itemsize}").astype(np.float64)
