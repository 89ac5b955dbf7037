"""`atom` and `red`: lanes one after the other in lane order, as one of the orders that hardware may choose."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.access import gather, in_spaces, note, scatter
from native_bench.gpu.emulator.entry import Build, Compute, Entry, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.half_math import narrowed, widened
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.races import Places
from native_bench.gpu.emulator.request import Request
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.spaces import Space
from native_bench.gpu.emulator.value_types import DTYPES, Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_ALLOWED = frozenset(words("relaxed acquire release acq_rel cta cluster gpu sys global shared noftz"))


def _added_halves(type_name: str) -> Compute:
    return lambda old, value: narrowed(widened(old, type_name) + widened(value, type_name), type_name)


def _compare_and_swap(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def _wrapping_up(old: Array, limit: Array) -> Array:
    answer: Array = np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))
    return answer


def _wrapping_down(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


_OTHERS: dict[str, Compute] = {
    "exch": lambda _old, new: new,
    "cas": _compare_and_swap,
    "inc": _wrapping_up,
    "dec": _wrapping_down,
}


def _update(how: str, type_name: str) -> Compute:
    if type_name in ("f16", "f16x2", "bf16", "bf16x2"):
        return _added_halves(type_name)
    return _OTHERS[how] if how in _OTHERS else _UFUNCS[how]


def _atomic(how: str, returns: bool) -> Build:
    def build(site: Site) -> Execute:
        first = 1 if returns else 0
        site.expect(first + (3 if how == "cas" else 2))
        space = next((name for name in ("global", "shared") if name in site.modifiers), "generic")
        address, type_name = site.address(first), site.type
        sources = [site.source(at, type_name) for at in range(first + 1, len(site.operands))]
        is_used = returns and site.is_result_used(site.operands[0])
        target = site.target(site.operands[0], type_name) if returns else None
        update, dtype = _update(how, type_name), DTYPES[type_name]
        # Only what numpy itself can apply to repeated places in order goes without the old values.
        at_once = _UFUNCS.get(how) if not is_used and dtype.kind in "iuf" and update is _UFUNCS.get(how) else None

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            values = [lanes.spread(source.read(chunk, lanes)) for source in sources]
            request = Request(chunk, lanes, address.read(chunk, lanes), dtype.itemsize, "atomic")
            request.check_alignment(space)

            def one(state: Space, part: Request, chosen: NDArray[np.bool_] | slice) -> Array:
                places, own = state.locate(part), [value[chosen] for value in values]
                note(state, part, places)
                if at_once is None:
                    return _in_turns(state, places, own, update)
                view = state.octets[: state.octets.size // dtype.itemsize * dtype.itemsize].view(dtype)
                at_once.at(view, places // dtype.itemsize, own[0])
                return own[0]

            old = in_spaces(request, space, one)
            if target is not None and is_used:
                target.write(chunk, lanes, old)

        return execute

    return build


def _in_turns(space: Space, places: Places, values: list[Array], update: Compute) -> Array:
    """Apply an update for each lane in order and return what each one found."""
    order = np.argsort(places, kind="stable")
    is_first = np.diff(places[order], prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    turn = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    by_turn = order[np.argsort(turn, kind="stable")]
    ends = np.cumsum(np.bincount(turn))
    old = np.empty_like(values[0])
    start = 0
    for end in ends:
        now = by_turn[start:end]
        found = gather(space, places[now], old.dtype)[:, 0]
        old[now] = found
        scatter(space, places[now], update(found, *(value[now] for value in values))[:, None])
        start = end
    return old


_INTEGERS = words("u32 s32 u64 s64")
_TYPES: dict[str, tuple[str, ...]] = {
    "add": words("u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2"),
    "min": _INTEGERS,
    "max": _INTEGERS,
    "and": words("b32 b64"),
    "or": words("b32 b64"),
    "xor": words("b32 b64"),
    "inc": ("u32",),
    "dec": ("u32",),
}
_RETURNING = {**_TYPES, "exch": words("b32 b64"), "cas": words("b16 b32 b64")}

ENTRIES: tuple[Entry, ...] = (
    *(Entry(f"atom.{how}", types, _atomic(how, True), _ALLOWED) for how, types in _RETURNING.items()),
    *(Entry(f"red.{how}", types, _atomic(how, False), _ALLOWED) for how, types in _TYPES.items()),
)
