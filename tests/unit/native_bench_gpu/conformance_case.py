"""A case of an instruction: values in, and what exact numbers say comes out."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tests.unit.native_bench_gpu.exact_numbers import from_bits, rounded, to_bits, wrapped
from tests.unit.native_bench_gpu.hand_written import evaluate

Oracle = Callable[..., Any]
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
SINGLES = ("f32", "f64")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")
_PATTERNS = (0, 1, 2, 3, 7, 100, -1, -2, -7, 0x7F, 0x80, 0x1234_5678_9ABC_DEF1, -0x1234_5678_9ABC_DEF1)


@dataclass(frozen=True)
class Case:
    """A pair of the whitelist, the instruction as written, its sources and results, and its oracle.

    Sources and results are types; the oracle takes one thread's values and returns its results as bits or numbers.
    """

    pair: tuple[str, str]
    text: str
    sources: tuple[str, ...]
    results: tuple[str, ...]
    oracle: Oracle
    values: tuple[tuple[Any, ...], ...] = field(repr=False)
    tolerance: float = 0.0

    def check(self) -> None:
        """Run the instruction on all values; raises AssertionError on the first that differs."""
        given = [
            (name, _as_bits(column, name))
            for name, column in zip(self.sources, zip(*self.values, strict=True), strict=True)
        ]
        outputs = evaluate(self.text, given, self.results)
        for at, values in enumerate(self.values):
            wanted = self.oracle(*values)
            wanted = wanted if len(self.results) > 1 else (wanted,)
            for bits, name, expected in zip(outputs, self.results, wanted, strict=True):
                found = _as_values(bits[at : at + 1], name)
                assert _agree(found, expected, name, self.tolerance), (
                    f"{self.text} of {values}: {found}, not {expected}"
                )


def is_float(name: str) -> bool:
    """Whether values of this type are numbers with a point."""
    return name[0] == "f" or name in ("bf16", "bf16x2", "tf32")


def _as_bits(column: tuple[Any, ...], name: str) -> np.ndarray:
    if name == "pred":
        return np.array(column, np.uint32)
    if name.endswith("x2"):
        low, high = (to_bits([value[half] for value in column], name[:-2]).astype(np.uint32) for half in (0, 1))
        return low | high << 16
    if is_float(name):
        return to_bits(list(column), name)
    width = int(name[1:])
    return np.array([value & ((1 << width) - 1) for value in column], f"u{width // 8}")


def _as_values(bits: np.ndarray, name: str) -> Any:
    if name == "pred":
        return bool(bits[0])
    if name.endswith("x2"):
        halves = bits.view(np.uint16)
        return tuple(float(from_bits(halves[at : at + 1], name[:-2])[0]) for at in (0, 1))
    if is_float(name):
        return float(from_bits(bits, name)[0])
    return wrapped(int(bits[0]), name)


def _agree(found: Any, expected: Any, name: str, tolerance: float) -> bool:
    if isinstance(expected, tuple):
        return all(_agree(one, other, name[:-2], tolerance) for one, other in zip(found, expected, strict=True))
    if isinstance(expected, bool):
        return bool(found is expected)
    if not is_float(name):
        return bool(found == wrapped(int(expected), name))
    if math.isnan(expected) or math.isinf(expected):
        return bool(found == expected or (math.isnan(expected) and math.isnan(found)))
    if tolerance:
        return abs(found - expected) <= tolerance * max(1.0, abs(expected))
    return bool(
        (found == expected and math.copysign(1, found) == math.copysign(1, expected)) or found == expected == 0
    )


def integers(*names: str) -> tuple[tuple[int, ...], ...]:
    """Return combinations of telling integers of these types."""
    columns = [sorted({wrapped(value, name) for value in _PATTERNS} | set(_extremes(name))) for name in names]
    return _thinned(columns)


def _extremes(name: str) -> tuple[int, ...]:
    bits = int(name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "s" else ((1 << bits) - 1, 1 << (bits - 1))


def _thinned(columns: list[list[Any]], most: int = 150) -> tuple[tuple[Any, ...], ...]:
    every = list(product(*columns))
    if len(every) <= most:
        return tuple(every)
    chosen = np.random.default_rng(1).choice(len(every), most, replace=False)
    return tuple(every[at] for at in sorted(chosen.tolist()))


_NUMBERS = (
    0.0,
    1.0,
    -1.0,
    1.5,
    -2.75,
    0.1,
    -0.3,
    3.0,
    1e-3,
    1234.5,
    -77.25,
    65504.0,
    2.0**-14,
    2.0**-24,
    -(2.0**-20),
)


def floats(*names: str, extra: tuple[float, ...] = ()) -> tuple[tuple[Any, ...], ...]:
    """Return combinations of telling numbers of these types; pairs get two different ones."""
    columns: list[list[Any]] = []
    for name in names:
        single = [rounded(Fraction(value), name.removesuffix("x2")) for value in (*_NUMBERS, *extra)]
        columns.append(list(zip(single, single[3:] + single[:3], strict=True)) if name.endswith("x2") else single)
    return _thinned(columns)


def bits_in(name: str) -> int:
    """Return the bits of an integer type."""
    return int(name[1:])


def exactly(name: str, mode: str, combine: Callable[..., Fraction], *values: Any) -> Any:
    """Return numbers combined as fractions and rounded once; pairs by halves."""
    if name.endswith("x2"):
        return tuple(exactly(name[:-2], mode, combine, *(value[half] for value in values)) for half in (0, 1))
    return rounded(combine(*(Fraction(value) for value in values)), name, mode)


def by_halves(name: str, function: Callable[..., float], *values: Any) -> Any:
    """Return a function of numbers, of pairs by halves."""
    if name.endswith("x2"):
        return tuple(function(*(value[half] for value in values)) for half in (0, 1))
    return function(*values)
