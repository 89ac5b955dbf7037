"""Cases of conversions between all types, in all directions of rounding."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from tests.unit.native_bench_gpu.conformance_case import (
    INTEGERS,
    Case,
    Oracle,
    bits_in,
    floats,
    integers,
)
from tests.unit.native_bench_gpu.exact_numbers import rounded

_ALL_INTEGERS = ("u8", "s8", *INTEGERS)
_TO_WHOLE: dict[str, Callable[[Fraction], int]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


def _conversion(to: str, of: str, modifiers: str, oracle: Oracle, values: Any) -> Case:
    text = f"cvt{modifiers}.{to}.{of} {{d0}}, {{s0}};"
    return Case(("cvt", f"{to}.{of}"), text, (of,), (to,), oracle, values)


def conversion_cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    for to, of in product(_ALL_INTEGERS, _ALL_INTEGERS):
        yield _conversion(to, of, "", lambda x: x, integers(of))
        yield _conversion(to, of, ".sat", partial(_clamped, to), integers(of))
    extra = (0.5, 1.5, 2.5, -0.5, -1.5, 255.5, 1e9, -3e9, 3e9, 1e20, -1e20, 127.6)
    for to, of in product(_ALL_INTEGERS, ("f16", "f32", "f64", "bf16")):
        values = tuple(one for one in floats(of, extra=extra) if math.isfinite(one[0]))
        for mode in _TO_WHOLE:
            yield _conversion(to, of, f".{mode}", partial(_to_integer, to, mode), values)
        nan = -(1 << (int(to[1:]) - 1)) if "64" in to + of else 0
        infinite = ((math.nan,), (math.inf,), (-math.inf,))
        yield _conversion(to, of, ".rzi", partial(_of_special, to, nan), infinite)
    for to, of in product(("f16", "f32", "f64", "bf16"), _ALL_INTEGERS):
        if to == "bf16" and "64" in of:
            continue
        for mode in ("rn",) if "64" in of else ("rn", "rz", "rm", "rp"):
            yield _conversion(to, of, f".{mode}", partial(_from_number, to, mode), integers(of))
    yield from _float_conversion_cases()


def _clamped(to: str, x: int) -> int:
    least, most = (
        (-(1 << (bits_in(to) - 1)), (1 << (bits_in(to) - 1)) - 1) if to[0] == "s" else (0, (1 << bits_in(to)) - 1)
    )
    return max(least, min(most, x))


def _to_integer(to: str, mode: str, x: float) -> int:
    return _clamped(to, _TO_WHOLE[mode](Fraction(x)))


def _of_special(to: str, nan: int, x: float) -> int:
    return nan if math.isnan(x) else _clamped(to, 1 << 70 if x > 0 else -(1 << 70))


def _from_number(to: str, mode: str, x: float) -> float:
    return rounded(Fraction(x), to, mode)


def _float_conversion_cases() -> Iterator[Case]:
    rank = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
    near = (1 + 2.0**-11, 1 + 2.0**-8, 1 + 2.0**-24, 1 + 2.0**-40, 7e4, -1e30, 2.0**-30, 1e300)
    for to, of in product(rank, rank):
        if to == of == "bf16":
            continue
        values = tuple(one for one in floats(of, extra=near) if math.isfinite(one[0]))
        if to == of or rank[to] > rank[of]:
            yield _conversion(to, of, "", partial(_from_number, to, "rn"), values)
        else:
            for mode in ("rn", "rz", "rm", "rp"):
                yield _conversion(to, of, f".{mode}", partial(_from_number, to, mode), values)
        if to == of:
            for mode, whole in _TO_WHOLE.items():
                yield _conversion(to, of, f".{mode}", lambda x, f=whole: float(f(Fraction(x))), values)
    values = tuple(one for one in floats("f32", extra=near) if math.isfinite(one[0]))
    yield _conversion("tf32", "f32", ".rna", partial(_from_number, "tf32", "rna"), values)
    pairs = tuple((x, y) for (x,), (y,) in zip(values, values[4:] + values[:4], strict=True))
    for to in ("f16x2", "bf16x2"):
        for mode in ("rn", "rz"):
            oracle = lambda high, low, t=to, m=mode: tuple(rounded(Fraction(v), t[:-2], m) for v in (low, high))  # noqa: E731
            yield Case(
                ("cvt", f"{to}.f32"),
                f"cvt.{mode}.{to}.f32 {{d0}}, {{s0}}, {{s1}};",
                ("f32", "f32"),
                (to,),
                oracle,
                pairs,
            )
    saturated = lambda x: min(1.0, max(0.0, x))  # noqa: E731
    yield _conversion("f32", "f32", ".sat", saturated, values)
    flushed = lambda x: 0.0 if abs(x) < 2.0**-126 else x  # noqa: E731
    yield _conversion("f32", "f32", ".ftz", flushed, ((2.0**-130,), (-(2.0**-140),), (1.5,), (2.0**-126,)))
