"""`mma.sync`, `ldmatrix` and `stmatrix`: fragments laid out as the PTX ISA's figures give them.

Sums are formed in double precision and rounded once; hardware keeps fewer bits between the products.
"""

from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.access import load, store
from native_bench.gpu.emulator.control import ALL_LANES
from native_bench.gpu.emulator.entry import Entry, words
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.operands import Source
from native_bench.gpu.emulator.request import Request
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.steps import Step, Together
from native_bench.gpu.emulator.value_types import DTYPES, Array, bits_of
from native_bench.gpu.emulator.warps import lanes_in_warp
from native_bench.gpu.emulator.whole_warps import (
    as_elements,
    as_numbers,
    check_whole,
    read_elements,
    write_elements,
)

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_LANE = np.arange(32)[:, None]
_GROUP, _MEMBER = _LANE >> 2, _LANE & 3


def _shape(site: Site) -> tuple[int, int, int]:
    shape = next(part for part in site.modifiers if part[0] == "m" and part[1].isdigit())
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def _places_a(elements: int, per_register: int) -> tuple[Array, Array]:
    """Return row and column of each element of A in each lane: registers alternate between row halves."""
    at = np.arange(elements)[None, :]
    register = at // per_register
    column = _MEMBER * per_register + at % per_register + register // 2 * (4 * per_register)
    return _GROUP + 8 * (register % 2), column


def _places_b(elements: int, per_register: int) -> tuple[Array, Array]:
    """Return row and column of each element of B in each lane."""
    at = np.arange(elements)[None, :]
    row = _MEMBER * per_register + at % per_register + at // per_register * (4 * per_register)
    return row, np.broadcast_to(_GROUP, row.shape)


def _places_c(elements: int) -> tuple[Array, Array]:
    """Return row and column of each element of C and D in each lane."""
    at = np.arange(elements)[None, :]
    return _GROUP + 8 * (at // 2), _MEMBER * 2 + at % 2


def _register_type(type_name: str) -> str:
    return type_name if type_name in ("f32", "f64") else "b32"


def _registers(site: Site, at: int, type_name: str) -> list[Source]:
    return [site.source_of(name, _register_type(type_name)) for name in site.parts(at)]


def _element_type(type_name: str) -> str:
    return "u32" if type_name == "tf32" else type_name


def _mma(site: Site) -> Step:
    site.expect(4)
    m, n, k = _shape(site)
    if not {"row", "col", "aligned"} <= set(site.modifiers):
        raise site.unsupported("its layout")
    d_type, a_type, b_type, c_type = site.types
    a, b, c = (_registers(site, at, name) for at, name in ((1, a_type), (2, b_type), (3, c_type)))
    targets = [site.target(name, _register_type(d_type)) for name in site.parts(0)]
    per = max(1, 32 // bits_of(a_type))
    places = (_places_a(m * k // 32, per), _places_b(k * n // 32, per), _places_c(m * n // 32))
    _check_counts(site, (len(targets), len(a), len(b), len(c)), (m, n, k))
    saturates = "satfinite" in site.modifiers

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        check_whole(chunk, lanes)
        left = _matrix(chunk, lanes, a, a_type, (m, k), places[0])
        right = _matrix(chunk, lanes, b, b_type, (k, n), places[1])
        added = _matrix(chunk, lanes, c, c_type, (m, n), places[2])
        result = left @ right + added
        row, column = places[2]
        write_elements(chunk, lanes, targets, as_elements(result[:, row, column], d_type, saturates))

    return Together(execute, ALL_LANES)


def _check_counts(site: Site, counts: tuple[int, int, int, int], shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    d_type, a_type, b_type, c_type = site.types
    elements = ((m * n, d_type), (m * k, a_type), (k * n, b_type), (m * n, c_type))
    wanted = tuple(count // 32 * bits_of(name) // max(32, bits_of(name)) for count, name in elements)
    if counts != wanted:
        raise site.unsupported(f"fragments of {counts} registers")


def _matrix(
    chunk: "Chunk",
    lanes: Lanes,
    sources: list[Source],
    type_name: str,
    shape: tuple[int, int],
    places: tuple[Array, Array],
) -> Array:
    """Return one matrix a warp, gathered from the lanes' fragments."""
    numbers = as_numbers(read_elements(chunk, lanes, sources, _element_type(type_name)), type_name)
    out = np.zeros((numbers.shape[0], *shape), numbers.dtype)
    out[:, places[0], places[1]] = numbers
    return out


def _count(site: Site) -> int:
    return next(int(part[1]) for part in site.modifiers if part in ("x1", "x2", "x4"))


def _rows_of_eight(chunk: "Chunk", lanes: Lanes, count: int, address: Array) -> tuple[Lanes, Array]:
    """Return the lanes that give the addresses of rows, eight for each matrix, and these addresses."""
    giving = lanes_in_warp(chunk, lanes) < 8 * count
    return lanes.where(giving), address[giving]


_EIGHT = np.arange(32)


def _ldmatrix(site: Site) -> Step:
    site.expect(2)
    count, names = _count(site), site.parts(0)
    if len(names) != count:
        raise site.unsupported("its results")
    targets, address = [site.target(name, "b32") for name in names], site.address(1)
    is_transposed = "trans" in site.modifiers
    space = "shared" if "shared" in site.modifiers else "generic"

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        warps = check_whole(chunk, lanes)
        givers, rows = _rows_of_eight(chunk, lanes, count, address.read(chunk, lanes))
        halves = np.ascontiguousarray(load(Request(chunk, givers, rows, 16, "read"), space, DTYPES["u64"]))
        matrices = halves.view(np.uint16).reshape(warps, count, 8, 8)
        if is_transposed:
            matrices = matrices.transpose(0, 1, 3, 2)
        pairs = np.stack([matrices[:, :, _EIGHT >> 2, 2 * (_EIGHT & 3) + half] for half in (0, 1)], axis=-1)
        registers = np.ascontiguousarray(pairs).view(np.uint32)[..., 0]
        write_elements(chunk, lanes, targets, registers.transpose(0, 2, 1))

    return Together(execute, ALL_LANES)


def _stmatrix(site: Site) -> Step:
    site.expect(2)
    count, names = _count(site), site.parts(1)
    if len(names) != count:
        raise site.unsupported("its sources")
    sources, address = [site.source_of(name, "b32") for name in names], site.address(0)
    is_transposed = "trans" in site.modifiers
    space = "shared" if "shared" in site.modifiers else "generic"

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        warps = check_whole(chunk, lanes)
        halves = read_elements(chunk, lanes, sources, "u16").reshape(warps, 32, count, 2)
        matrices = halves.transpose(0, 2, 1, 3).reshape(warps, count, 8, 8)
        if is_transposed:
            matrices = matrices.transpose(0, 1, 3, 2)
        givers, rows = _rows_of_eight(chunk, lanes, count, address.read(chunk, lanes))
        content = np.ascontiguousarray(matrices).reshape(-1, 8).view(np.uint64)
        store(Request(chunk, givers, rows, 16, "write"), space, content)

    return Together(execute, ALL_LANES)


_MMA: dict[str, str] = {
    "m16n8k8": "f32.f16.f16.f32 f16.f16.f16.f16 f32.bf16.bf16.f32 f32.tf32.tf32.f32",
    "m16n8k16": "f32.f16.f16.f32 f16.f16.f16.f16 f32.bf16.bf16.f32 s32.s8.s8.s32 s32.u8.u8.s32",
    "m16n8k4": "f32.tf32.tf32.f32",
    "m16n8k32": "s32.s8.s8.s32 s32.u8.u8.s32 s32.u8.s8.s32 s32.s8.u8.s32",
    "m8n8k4": "f64.f64.f64.f64",
}
_LAYOUT = frozenset(words("aligned row col satfinite"))
_MATRIX = frozenset(words("aligned trans shared"))

ENTRIES: tuple[Entry, ...] = (
    *(Entry(f"mma.sync.{shape}", words(types), _mma, _LAYOUT) for shape, types in _MMA.items()),
    *(Entry(f"ldmatrix.sync.m8n8.{count}", ("b16",), _ldmatrix, _MATRIX) for count in words("x1 x2 x4")),
    *(Entry(f"stmatrix.sync.m8n8.{count}", ("b16",), _stmatrix, _MATRIX) for count in words("x1 x2 x4")),
)
