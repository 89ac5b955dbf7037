"""`setp`, `set`, `selp` and `slct`: comparisons and choices."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.entry import Compute, Entry, flushed, plain, pure, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.half_math import narrowed, widened
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import DTYPES, Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_HALVES = words("f16 bf16 f16x2 bf16x2")
_SCALARS = words("b16 b32 b64 u16 s16 u32 s32 u64 s64 f32 f64")
_COMPARED = (*_SCALARS, *_HALVES)

_COMPARISONS: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_UNORDERED = {f"{name}u": name for name in _COMPARISONS}
_NAMES = frozenset({*_COMPARISONS, *_UNSIGNED_NAMES, *_UNORDERED, "num", "nan"})
_COMBINE: dict[str, Compute] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_ALLOWED = frozenset({*_NAMES, "ftz"})


def _comparison(site: Site) -> Compute:
    """Return the function that compares two values of the instruction's last type."""
    found = [modifier for modifier in site.modifiers if modifier in _NAMES]
    if len(found) != 1:
        raise site.unsupported("its comparison")
    name = found[0]
    base = _UNSIGNED_NAMES.get(name, _UNORDERED.get(name, name))
    type_name, is_flushing = site.type, "ftz" in site.modifiers
    is_float = type_name[0] == "f" or type_name.startswith("bf")
    is_odd_for_integers = name in _UNORDERED or name in ("num", "nan")
    if (name in _UNSIGNED_NAMES and type_name[0] not in "ub") or (is_odd_for_integers and not is_float):
        raise site.unsupported()

    def compare(x: Array, y: Array) -> Array:
        if type_name in _HALVES:
            x, y = widened(x, type_name), widened(y, type_name)
        elif is_flushing:
            x, y = flushed(x), flushed(y)
        return _compared(x, y, name, base) if is_float else _COMPARISONS[base](x, y)

    return compare


def _compared(x: Array, y: Array, name: str, base: str) -> Array:
    """Compare floats: an ordered comparison with NaN fails, an unordered one (`ltu`) holds."""
    has_nan: Array = np.isnan(x) | np.isnan(y)
    if name in ("num", "nan"):
        return has_nan if name == "nan" else ~has_nan
    holds: Array = _COMPARISONS[base](x, y)
    return holds | has_nan if name in _UNORDERED else holds & ~has_nan


def _setp(combine: Compute | None) -> Callable[[Site], Execute]:
    """Build `setp`, whose result is one predicate, or two: `p|q`."""

    def build(site: Site) -> Execute:
        site.expect(3 if combine is None else 4)
        compare, names = _comparison(site), site.operands[0].split("|")
        targets = [site.target(name.strip(), "pred") for name in names]
        read = [site.source(at, site.type) for at in (1, 2)]
        other = site.source(3, "pred") if combine is not None else None
        is_pair = site.type.endswith("x2")
        if len(targets) > 2 or (is_pair and len(targets) != 2):
            raise site.unsupported("its results")

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            holds = compare(*(source.read(chunk, lanes) for source in read))
            answers = [holds[..., 0], holds[..., 1]] if is_pair else [holds, ~holds]
            for target, answer in zip(targets, answers, strict=False):
                kept = answer if combine is None or other is None else combine(answer, other.read(chunk, lanes))
                target.write(chunk, lanes, kept)

        return execute

    return build


def _set(site: Site) -> Compute:
    """Build `set`: all bits or 1.0 where the comparison holds."""
    compare, to = _comparison(site), site.types[0]
    if to.endswith("x2") and site.types[1].endswith("x2"):
        return lambda x, y: narrowed(compare(x, y).astype(np.float32), to)
    if to == "u32" and site.types[1].endswith("x2"):
        return _set_halves(compare)
    if to in _HALVES:
        return lambda x, y: narrowed(compare(x, y).astype(np.float32), to)
    dtype = DTYPES[to]
    yes = dtype.type(1) if dtype.kind == "f" else np.array(-1).astype(dtype)[()]
    return lambda x, y: np.where(compare(x, y), yes, dtype.type(0))


def _set_halves(compare: Compute) -> Compute:
    def compute(x: Array, y: Array) -> Array:
        bits = np.where(compare(x, y), np.uint16(0xFFFF), np.uint16(0))
        return np.ascontiguousarray(bits).view(np.uint32)[..., 0]

    return compute


def _chosen(yes: Array, no: Array, condition: Array) -> Array:
    return np.where(condition, yes, no)


def _chosen_by_sign(yes: Array, no: Array, value: Array) -> Array:
    return np.where(value >= 0, yes, no)


_SET_TYPES = (
    *(f"{to}.{of}" for to in words("u32 s32 f32") for of in words("b32 u32 s32 u64 s64 f32 f64")),
    *words("f16.f16 bf16.bf16 f16x2.f16x2 bf16x2.bf16x2 u32.f16 u32.bf16 u32.f16x2 u32.bf16x2"),
)

ENTRIES: tuple[Entry, ...] = (
    Entry("setp", _COMPARED, _setp(None), _ALLOWED),
    *(Entry(f"setp.{name}", _COMPARED, _setp(combine), _ALLOWED) for name, combine in _COMBINE.items()),
    pure("set", _SET_TYPES, _set, "1 1 -> 0", " ".join(_ALLOWED)),
    pure("selp", _SCALARS, plain(_chosen), "0 0 pred -> 0"),
    pure("slct", tuple(f"{name}.s32" for name in _SCALARS), plain(_chosen_by_sign), "0 0 s32 -> 0"),
)
