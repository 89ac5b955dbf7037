"""Cases of floating-point arithmetic, judged by fractions that are rounded once."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from tests.unit.native_bench_gpu.conformance_case import (
    HALVES,
    SINGLES,
    Case,
    Oracle,
    by_halves,
    exactly,
    floats,
)
from tests.unit.native_bench_gpu.exact_numbers import rounded

_ARITHMETIC: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "fma": lambda x, y, z: x * y + z,
}
_TOLERANCES = {"f16": 2**-10, "bf16": 2**-7, "f32": 2**-22, "f64": 2**-50}


def _ordered(
    name: str, text: str, types: tuple[str, ...], count: int, oracle: Oracle, mode: str = ""
) -> Iterator[Case]:
    for own in types:
        written = (
            text.format(mode=mode, type=own) + " {d0}, " + ", ".join(f"{{s{at}}}" for at in range(count)) + ";"
        )
        yield Case((name, own), written, (own,) * count, (own,), partial(oracle, own), floats(*(own,) * count))


def float_cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    for name, combine in _ARITHMETIC.items():
        count = 3 if name == "fma" else 2
        nearest = partial(_rounded_by, combine, "rn")
        yield from _ordered(name, f"{name}.rn.{{type}}", SINGLES, count, nearest)
        for mode in ("rz", "rm", "rp"):
            yield from _ordered(
                name, f"{name}.{mode}.{{type}}", ("f32",), count, partial(_rounded_by, combine, mode)
            )
        own_name = "fma.rn" if name == "fma" else name
        yield from _ordered(own_name, f"{own_name}.{{type}}", HALVES, count, nearest)
    yield from _ordered("mad", "mad.rn.{type}", SINGLES, 3, partial(_rounded_by, _ARITHMETIC["fma"], "rn"))
    yield from _ordered("neg", "neg.{type}", (*SINGLES, *HALVES), 1, lambda t, x: by_halves(t, lambda v: -v, x))
    yield from _ordered("abs", "abs.{type}", (*SINGLES, *HALVES), 1, lambda t, x: by_halves(t, abs, x))
    for name, choose in (("min", min), ("max", max)):
        yield from _ordered(
            name, f"{name}.{{type}}", (*SINGLES, *HALVES), 2, lambda t, x, y, f=choose: by_halves(t, f, x, y)
        )
    yield from _ordered("copysign", "copysign.{type}", SINGLES, 2, lambda t, x, y: math.copysign(y, x))
    yield from _division_cases()
    yield from _approximate_cases()
    yield from _test_cases()


def _rounded_by(combine: Callable[..., Fraction], mode: str, name: str, *values: Any) -> Any:
    return exactly(name, mode, combine, *values)


def _division_cases() -> Iterator[Case]:
    for own in SINGLES:
        pairs = tuple(pair for pair in floats(own, own) if pair[1])
        quotient = lambda x, y, t=own: rounded(Fraction(x) / Fraction(y), t)  # noqa: E731
        yield Case(("div", own), f"div.rn.{own} {{d0}}, {{s0}}, {{s1}};", (own, own), (own,), quotient, pairs)
        nonzero = tuple(one for one in floats(own) if one[0])
        inverse = lambda x, t=own: rounded(1 / Fraction(x), t)  # noqa: E731
        yield Case(("rcp", own), f"rcp.rn.{own} {{d0}}, {{s0}};", (own,), (own,), inverse, nonzero)
        positive = tuple(one for one in floats(own) if one[0] > 0)
        yield Case(("sqrt", own), f"sqrt.rn.{own} {{d0}}, {{s0}};", (own,), (own,), partial(_root, own), positive)
        text = f"rsqrt.approx.{own} {{d0}}, {{s0}};"
        yield Case(("rsqrt.approx", own), text, (own,), (own,), lambda x: x**-0.5, positive, _TOLERANCES[own])


def _root(name: str, x: float) -> float:
    """Return the root rounded once: Python's integer root decides with 64 bits to spare."""
    scaled = Fraction(x) * Fraction(4) ** 600
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    sticky = Fraction(0) if whole * whole == scaled else Fraction(1, 2)
    return rounded((whole + sticky) / Fraction(2) ** 600, name)


def _approximate_cases() -> Iterator[Case]:
    functions: dict[str, tuple[Callable[[float], float], tuple[str, ...], bool]] = {
        "ex2.approx": (lambda x: 2.0**x, ("f32", "f16", "f16x2"), False),
        "ex2.approx.ftz": (lambda x: 2.0**x, ("bf16", "bf16x2"), False),
        "tanh.approx": (math.tanh, ("f32", *HALVES), False),
        "lg2.approx": (math.log2, ("f32",), True),
        "sin.approx": (math.sin, ("f32",), False),
        "cos.approx": (math.cos, ("f32",), False),
    }
    for name, (function, types, needs_positive) in functions.items():
        for own in types:
            values = tuple(one for one in floats(own) if _small(one[0]) and (not needs_positive or one[0] > 0))
            tolerance = _TOLERANCES[own.removesuffix("x2")]
            oracle = lambda x, t=own, f=function: by_halves(t, f, x)  # noqa: E731
            yield Case((name, own), f"{name}.{own} {{d0}}, {{s0}};", (own,), (own,), oracle, values, tolerance)


def _small(value: Any) -> bool:
    return all(abs(part) < 10 for part in (value if isinstance(value, tuple) else (value,)))


def _test_cases() -> Iterator[Case]:
    for own, tiny in (("f32", 2.0**-126), ("f64", 2.0**-1022)):
        values = ((0.0,), (1.0,), (math.inf,), (-math.inf,), (math.nan,), (tiny,), (tiny / 4,), (-tiny / 2,))
        tests = {
            "finite": math.isfinite,
            "infinite": math.isinf,
            "number": lambda x: not math.isnan(x),
            "notanumber": math.isnan,
            "normal": lambda x, least=tiny: math.isfinite(x) and abs(x) >= least,
            "subnormal": lambda x, least=tiny: 0 < abs(x) < least,
        }
        for name, test in tests.items():
            yield Case(("testp", own), f"testp.{name}.{own} {{d0}}, {{s0}};", (own,), ("pred",), test, values)
