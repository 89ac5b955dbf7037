"""Single and double precision: PTX ISA chapter "Floating Point". Approximate functions come from the C library."""

from functools import partial

import numpy as np

from native_bench.gpu.emulator.entry import Compute, Factory, flushed, plain, pure, saturated, words
from native_bench.gpu.emulator.exact import fused32, fused64, fused_to_odd
from native_bench.gpu.emulator.rounding import narrow
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import Array, unsigned

_BOTH = words("f32 f64")


def adjusted(compute: Compute) -> Factory:
    """Return a factory that obeys `.ftz` and `.sat` around a function."""

    def factory(site: Site) -> Compute:
        steps = [flushed] if "ftz" in site.modifiers else []
        after = [*steps, *([saturated] if "sat" in site.modifiers else [])]
        return partial(_around, compute, steps, after) if after else compute

    return factory


def _around(compute: Compute, before: list[Compute], after: list[Compute], *values: Array) -> Array:
    for step in before:
        values = tuple(step(value) for value in values)
    result = compute(*values)
    for step in after:
        result = step(result)
    return result


def least(x: Array, y: Array) -> Array:
    """Return the smaller one; a number before NaN, -0 before +0."""
    return np.where((x == 0) & (y == 0), _merged_zeros(x, y, np.bitwise_or), np.fmin(x, y))


def greatest(x: Array, y: Array) -> Array:
    """Return the greater one; a number before NaN, +0 before -0."""
    return np.where((x == 0) & (y == 0), _merged_zeros(x, y, np.bitwise_and), np.fmax(x, y))


def _merged_zeros(x: Array, y: Array, merge: Compute) -> Array:
    bits = unsigned(8 * x.dtype.itemsize)
    return merge(x.view(bits), y.view(bits)).view(x.dtype)


def with_nan(choose: Compute, site: Site) -> Compute:
    """Return the choice that answers NaN when either is, if the instruction says `.NaN`."""
    if "NaN" not in site.modifiers:
        return choose
    return lambda x, y: np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), choose(x, y))


def _choosing(choose: Compute) -> Factory:
    return lambda site: adjusted(with_nan(choose, site))(site)


def _directed(nearest: Compute, to_odd: Compute) -> Factory:
    """Return a factory for all directions of rounding in f32: rounded to odd in double first, then as asked."""

    def factory(site: Site) -> Compute:
        mode = next((mode for mode in ("rz", "rm", "rp") if mode in site.modifiers), None)
        if mode is None:
            return adjusted(nearest)(site)
        if site.type != "f32":
            raise site.unsupported("this kind of rounding")
        return adjusted(lambda *values: narrow(to_odd(*values), "f32", mode))(site)

    return factory


def _sum_to_odd(x: Array, y: Array) -> Array:
    return fused_to_odd(x, np.ones(1, x.dtype), y)


def _product_to_odd(x: Array, y: Array) -> Array:
    return fused_to_odd(x, y, -np.zeros(1, x.dtype))


def _fused(site: Site) -> Compute:
    return _directed(fused32 if site.type == "f32" else fused64, fused_to_odd)(site)


def _reciprocal(x: Array) -> Array:
    answer: Array = x.dtype.type(1) / x
    return answer


def _reciprocal_root(x: Array) -> Array:
    return (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype)


def _in_double(function: Compute) -> Compute:
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


def _rounded_one(names: tuple[str, ...], factory: Factory) -> Factory:
    """Return the factory for instructions that must say which of these kinds of rounding they mean."""

    def checked(site: Site) -> Compute:
        if not set(names) & set(site.modifiers):
            raise site.unsupported("no kind of rounding")
        return factory(site)

    return checked


def _copied_sign(x: Array, y: Array) -> Array:
    return np.copysign(y, x)


def _tested(site: Site) -> Compute:
    tests: dict[str, Compute] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny),
    }
    if len(site.modifiers) != 1:
        raise site.unsupported("its test")
    return tests[site.modifiers[0]]


_DIRECTIONS = ("rn", "rz", "rm", "rp")
_ROUNDED = "rn rz rm rp ftz sat"
_EITHER = ("rn", "approx", "full")

ENTRIES = (
    pure("add", _BOTH, _directed(lambda x, y: x + y, _sum_to_odd), "0 0 -> 0", _ROUNDED),
    pure("sub", _BOTH, _directed(lambda x, y: x - y, lambda x, y: _sum_to_odd(x, -y)), "0 0 -> 0", _ROUNDED),
    pure("mul", _BOTH, _directed(lambda x, y: x * y, _product_to_odd), "0 0 -> 0", _ROUNDED),
    pure("fma", _BOTH, _rounded_one(_DIRECTIONS, _fused), "0 0 0 -> 0", _ROUNDED),
    pure("mad", _BOTH, _rounded_one(_DIRECTIONS, _fused), "0 0 0 -> 0", _ROUNDED),
    pure("div", _BOTH, _rounded_one(_EITHER, adjusted(lambda x, y: x / y)), "0 0 -> 0", "rn approx full ftz"),
    pure("rcp", _BOTH, _rounded_one(_EITHER, adjusted(_reciprocal)), "0 -> 0", "rn approx ftz"),
    pure("sqrt", _BOTH, _rounded_one(_EITHER, adjusted(np.sqrt)), "0 -> 0", "rn approx ftz"),
    pure("rsqrt.approx", _BOTH, adjusted(_reciprocal_root), "0 -> 0", "ftz"),
    pure("ex2.approx", ("f32",), adjusted(_in_double(np.exp2)), "0 -> 0", "ftz"),
    pure("lg2.approx", ("f32",), adjusted(_in_double(np.log2)), "0 -> 0", "ftz"),
    pure("sin.approx", ("f32",), adjusted(_in_double(np.sin)), "0 -> 0", "ftz"),
    pure("cos.approx", ("f32",), adjusted(_in_double(np.cos)), "0 -> 0", "ftz"),
    pure("tanh.approx", ("f32",), adjusted(_in_double(np.tanh)), "0 -> 0"),
    pure("neg", _BOTH, adjusted(np.negative), "0 -> 0", "ftz"),
    pure("abs", _BOTH, adjusted(np.abs), "0 -> 0", "ftz"),
    pure("min", _BOTH, _choosing(least), "0 0 -> 0", "ftz NaN"),
    pure("max", _BOTH, _choosing(greatest), "0 0 -> 0", "ftz NaN"),
    pure("copysign", _BOTH, plain(_copied_sign), "0 0 -> 0"),
    pure("testp", _BOTH, _tested, "0 -> pred", "finite infinite number notanumber normal subnormal"),
)
