"""`cvt`: between all scalar types, with the kinds of rounding that each pair has."""

import numpy as np

from native_bench.gpu.emulator.entry import Compute, Entry, flushed, pure, saturated, words
from native_bench.gpu.emulator.half_math import widened
from native_bench.gpu.emulator.rounding import narrow, to_integer, to_whole
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import DTYPES, Array, bits_of

_INTEGERS = words("u8 s8 u16 s16 u32 s32 u64 s64")
_FLOATS = words("f16 f32 f64")
_TO_WHOLE = frozenset({"rni", "rzi", "rmi", "rpi"})
_TO_FLOAT = frozenset({"rn", "rna", "rz", "rm", "rp"})


def _pairs(to: tuple[str, ...], from_: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{first}.{second}" for first in to for second in from_)


def _one_of(site: Site, modes: frozenset[str], default: str = "") -> str:
    found = [modifier for modifier in site.modifiers if modifier in modes]
    if len(found) > 1 or not (found or default):
        raise site.unsupported("its kind of rounding")
    return found[0] if found else default


def _between_integers(site: Site) -> Compute:
    to, from_ = (DTYPES[name] for name in site.types)
    if "sat" not in site.modifiers:
        return lambda x: x.astype(to)
    own, source = np.iinfo(to), np.iinfo(from_)
    least, most = max(own.min, source.min), min(own.max, source.max)
    return lambda x: np.clip(x, from_.type(least), from_.type(most)).astype(to)


def _as_floats(values: Array, type_name: str) -> Array:
    return widened(values, type_name) if type_name in ("f16", "bf16") else values


def _to_integer(site: Site) -> Compute:
    mode, (to, from_) = _one_of(site, _TO_WHOLE), site.types
    is_flushing = "ftz" in site.modifiers

    def compute(x: Array) -> Array:
        values = _as_floats(x, from_)
        return to_integer(to_whole(flushed(values) if is_flushing else values, mode), to, bits_of(from_))

    return compute


def _from_integer(site: Site) -> Compute:
    mode, (to, from_) = _one_of(site, _TO_FLOAT - {"rna"}), site.types
    dtype = DTYPES[to]
    if mode == "rn" and dtype.kind == "f":
        return lambda x: x.astype(dtype)
    if bits_of(from_) == 64:
        raise site.unsupported("a 64-bit integer with this rounding")
    return lambda x: narrow(x.astype(np.float64), to, mode)


def _between_floats(site: Site) -> Compute:
    to, from_ = site.types
    is_whole = bool(_TO_WHOLE & set(site.modifiers))
    is_narrower = to != from_ and (bits_of(to) < bits_of(from_) or {to, from_} == {"f16", "bf16"})
    mode = _one_of(site, _TO_WHOLE if is_whole else _TO_FLOAT, "" if is_narrower else "rn")
    modifiers = set(site.modifiers)

    def compute(x: Array) -> Array:
        values = _as_floats(x, from_)
        if "ftz" in modifiers and values.dtype == np.float32 and from_ == "f32":
            values = flushed(values)
        if "sat" in modifiers:
            values = saturated(values)
        if "relu" in modifiers:
            values = np.where(np.isnan(values), values, np.maximum(values, 0)).astype(values.dtype)
        if is_whole:
            return narrow(to_whole(values, mode), to, "rn")
        result = narrow(values, to, mode)
        return flushed(result) if "ftz" in modifiers and to == "f32" else result

    return compute


def _to_pair(site: Site) -> Compute:
    to = site.types[0]
    mode, element = _one_of(site, frozenset({"rn", "rz"})), to.removesuffix("x2")
    is_relu = "relu" in site.modifiers

    def compute(high: Array, low: Array) -> Array:
        both = np.stack(np.broadcast_arrays(low, high), axis=-1)
        if is_relu:
            both = np.where(np.isnan(both), both, np.maximum(both, 0)).astype(np.float32)
        halves = np.ascontiguousarray(narrow(both, element, mode))
        return halves.view(np.uint32)[..., 0]

    return compute


def _to_tf32(site: Site) -> Compute:
    mode = _one_of(site, frozenset({"rna", "rn", "rz"}))
    return lambda x: narrow(x, "tf32", mode)


_ROUND_FLOAT = "rn rz rm rp ftz sat"

ENTRIES: tuple[Entry, ...] = (
    pure("cvt", _pairs(_INTEGERS, _INTEGERS), _between_integers, "1 -> 0", "sat"),
    pure("cvt", _pairs(_INTEGERS, (*_FLOATS, "bf16")), _to_integer, "1 -> 0", "rni rzi rmi rpi ftz sat"),
    pure("cvt", _pairs(_FLOATS, _INTEGERS), _from_integer, "1 -> 0", "rn rz rm rp"),
    pure("cvt", _pairs(("bf16",), words("u8 s8 u16 s16 u32 s32")), _from_integer, "1 -> 0", "rn rz rm rp"),
    pure("cvt", _pairs(_FLOATS, _FLOATS), _between_floats, "1 -> 0", f"{_ROUND_FLOAT} rni rzi rmi rpi"),
    pure("cvt", words("bf16.f32 bf16.f64 bf16.f16"), _between_floats, "1 -> 0", "rn rz rm rp relu sat"),
    pure("cvt", words("f32.bf16 f64.bf16 f16.bf16"), _between_floats, "1 -> 0", "rn rz rm rp"),
    pure("cvt", words("f16x2.f32 bf16x2.f32"), _to_pair, "1 1 -> 0", "rn rz relu"),
    pure("cvt", ("tf32.f32",), _to_tf32, "1 -> 0", "rna rn rz"),
)
