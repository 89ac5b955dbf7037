"""Loads and stores of a chunk: find the space, check, note who, move the bytes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.memory import LOCAL_RANGE, SHARED_RANGE
from native_bench.gpu.emulator.races import AccessTable, Places, Who
from native_bench.gpu.emulator.request import Request
from native_bench.gpu.emulator.spaces import Space, generic_window, raise_conflict
from native_bench.gpu.emulator.value_types import Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk


def load(request: Request, space_name: str, dtype: np.dtype[Any]) -> Array:
    """Return what lies at the addresses, (lanes, values of this type)."""
    request.check_alignment(space_name)

    def one(space: Space, part: Request, _chosen: object) -> Array:
        places = space.locate(part)
        note(space, part, places)
        return gather(space, places, dtype, part.width // dtype.itemsize)

    return in_spaces(request, space_name, one)


def store(request: Request, space_name: str, values: Array) -> None:
    """Write the values of an array (lanes, values)."""
    request.check_alignment(space_name)

    def one(space: Space, part: Request, chosen: NDArray[np.bool_] | slice) -> Array:
        places, own = space.locate(part), values[chosen]
        if part.what == "write" and space.table is not None:
            _write_checked(space, space.table, part, places, own)
        else:
            note(space, part, places)
            scatter(space, places, own)
        return own

    in_spaces(request, space_name, one)


def in_spaces(
    request: Request,
    space_name: str,
    one: Callable[[Space, Request, NDArray[np.bool_] | slice], Array],
) -> Array:
    """Run `one` for the lanes of each space that a generic address may mean, and join what it returns."""
    chunk, everyone = request.chunk, slice(None)
    if space_name != "generic":
        return one(chunk.space(space_name), request, everyone)
    windows = generic_window(request.address)
    if (windows == windows[0]).all():
        return one(_generic(chunk, int(windows[0])), request, everyone)
    out: Array | None = None
    for window in np.unique(windows):
        chosen = windows == window
        result = one(_generic(chunk, int(window)), request.part(chosen), chosen)
        if out is None:
            out = np.zeros((windows.size, *result.shape[1:]), result.dtype)
        out[chosen] = result
    return np.zeros(0) if out is None else out


def _generic(chunk: "Chunk", window: int) -> Space:
    return chunk.space({SHARED_RANGE: "shared", LOCAL_RANGE: "local"}.get(window, "global"))


def gather(space: Space, places: Places, dtype: np.dtype[Any], count: int = 1) -> Array:
    """Return the values at aligned places, (lanes, count)."""
    width = dtype.itemsize * count
    octets = space.octets
    usable = octets[: octets.size // width * width]
    values: Array = usable.view(dtype).reshape(-1, count)[places // width]
    return values


def scatter(space: Space, places: Places, values: Array) -> None:
    """Set the values at aligned places."""
    width = values.dtype.itemsize * values.shape[1]
    octets = space.octets
    usable = octets[: octets.size // width * width]
    usable.view(values.dtype).reshape(-1, values.shape[1])[places // width] = values


def granules_of(chunk: "Chunk", places: Places, width: int) -> list[Places]:
    """Return the granules that accesses of this width touch, one array for the first of each, and so on."""
    size = chunk.granule
    first = places // size
    return [first + step for step in range(max(1, width // size))]


def note(space: Space, request: Request, places: Places) -> None:
    """Note a read or an atomic access; raises LaunchFault when it races or reads what nobody wrote."""
    table, what, chunk = space.table, request.what, request.chunk
    if table is None or (space.name == "global" and what == "read" and chunk.is_read_only(request.address)):
        return
    who = Who(chunk, request.lanes)
    if what != "read":
        chunk.note_acquire(request.lanes)
    for granules in granules_of(chunk, places, request.width):
        space.note(request, granules)
        if what == "volatile read":
            continue
        conflict = table.read(granules, who) if what == "read" else table.atomic(granules, who)
        if conflict is not None:
            raise_conflict(space, request, conflict)


def _write_checked(space: Space, table: AccessTable, request: Request, places: Places, values: Array) -> None:
    """Write, with a fault where another thread's access is not ordered before and the bits differ."""
    who = Who(request.chunk, request.lanes)
    touched = granules_of(request.chunk, places, request.width)

    def differs(at: NDArray[np.intp]) -> NDArray[np.bool_]:
        old = np.ascontiguousarray(gather(space, places[at], values.dtype, values.shape[1])).view(np.uint8)
        unequal: NDArray[np.bool_] = (old != np.ascontiguousarray(values[at]).view(np.uint8)).any(1)
        return unequal

    for granules in touched:
        conflict = table.write(granules, who, differs)
        if conflict is not None:
            raise_conflict(space, request, conflict)
    scatter(space, places, values)
    for granules in touched:
        lost = table.lost_to(granules, who)
        wrong = lost[differs(lost)] if lost.size else lost
        if wrong.size:
            raise_conflict(space, request, table.winner(granules, who, int(wrong[0])))
