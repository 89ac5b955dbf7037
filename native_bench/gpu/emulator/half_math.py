"""Half precision and bfloat16, single and in pairs: computed wider, rounded once. bfloat16 travels as its bits."""

import numpy as np

from native_bench.gpu.emulator.entry import Compute, Entry, Factory, pure, saturated, words
from native_bench.gpu.emulator.exact import fused_to_odd
from native_bench.gpu.emulator.float_math import greatest, least, with_nan
from native_bench.gpu.emulator.rounding import narrow
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import DTYPES, Array

_ALL = words("f16 f16x2 bf16 bf16x2")
_SIGN = {"f16": 0x8000, "bf16": 0x8000, "f16x2": 0x8000_8000, "bf16x2": 0x8000_8000}


def element_type(type_name: str) -> str:
    """Return the type of one value: `bf16x2` holds two of `bf16`."""
    return type_name.removesuffix("x2")


def widened(values: Array, type_name: str) -> Array:
    """Return halves, bfloat16s or pairs as float32; a pair adds a last axis of two, the low one first."""
    if type_name.endswith("x2"):
        values = np.ascontiguousarray(values).view(np.uint16).reshape(*values.shape, 2)
    if type_name.startswith("bf16"):
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values.view(np.float16).astype(np.float32)


def narrowed(values: Array, type_name: str) -> Array:
    """Return floats rounded to this type, in pairs along the last axis where it is one of pairs."""
    single = np.ascontiguousarray(narrow(values, element_type(type_name), "rn"))
    if type_name.endswith("x2"):
        return single.view(np.uint32)[..., 0]
    return single.view(DTYPES[type_name])


def on_floats(compute: Compute) -> Factory:
    """Return a factory that widens the sources, computes, obeys `.sat` and `.relu`, and rounds."""

    def factory(site: Site) -> Compute:
        name, modifiers = site.type, set(site.modifiers)

        def halves(*values: Array) -> Array:
            result = compute(*(widened(value, name) for value in values))
            if "sat" in modifiers:
                result = saturated(result)
            if "relu" in modifiers:
                result = np.where(result > 0, result, np.where(np.isnan(result), result, 0))
            return narrowed(result, name)

        return halves

    return factory


def _choosing(choose: Compute) -> Factory:
    return lambda site: on_floats(with_nan(choose, site))(site)


def _sign_changed(change: Compute) -> Factory:
    def factory(site: Site) -> Compute:
        sign, dtype = _SIGN[site.type], DTYPES[site.type]

        def compute(x: Array) -> Array:
            bits = x.view(np.dtype(f"u{x.dtype.itemsize}"))
            return change(bits, bits.dtype.type(sign)).astype(bits.dtype).view(dtype)

        return compute

    return factory


ENTRIES: tuple[Entry, ...] = (
    pure("add", _ALL, on_floats(lambda x, y: x + y), "0 0 -> 0", "rn sat"),
    pure("sub", _ALL, on_floats(lambda x, y: x - y), "0 0 -> 0", "rn sat"),
    pure("mul", _ALL, on_floats(lambda x, y: x * y), "0 0 -> 0", "rn sat"),
    pure("fma.rn", _ALL, on_floats(fused_to_odd), "0 0 0 -> 0", "sat relu"),
    pure("min", _ALL, _choosing(least), "0 0 -> 0", "NaN"),
    pure("max", _ALL, _choosing(greatest), "0 0 -> 0", "NaN"),
    pure("neg", _ALL, _sign_changed(np.bitwise_xor), "0 -> 0"),
    pure("abs", _ALL, _sign_changed(lambda bits, sign: bits & ~sign), "0 -> 0"),
    pure("ex2.approx", words("f16 f16x2"), on_floats(np.exp2), "0 -> 0"),
    pure("ex2.approx.ftz", words("bf16 bf16x2"), on_floats(np.exp2), "0 -> 0"),
    pure("tanh.approx", _ALL, on_floats(np.tanh), "0 -> 0"),
)
