"""`wmma`: load, multiply and store fragments whose layout is nobody's business but ours.

Element e of a matrix, counted by rows, is in lane e % 32. Where hardware holds each element in two lanes, ours
holds it twice in one, so that what a kernel does to every register stays right.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.access import load, store
from native_bench.gpu.emulator.control import ALL_LANES
from native_bench.gpu.emulator.entry import Build, Entry, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.operands import Address, Source, Target
from native_bench.gpu.emulator.request import Addresses, Request
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.steps import Step, Together
from native_bench.gpu.emulator.value_types import Array, bits_of, unsigned
from native_bench.gpu.emulator.whole_warps import (
    as_elements,
    as_numbers,
    check_whole,
    read_elements,
    write_elements,
)

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_SHAPES = words("m16n16k16 m32n8k16 m8n32k16")


def _extents(site: Site, which: str) -> tuple[int, int]:
    shape = next(part for part in site.modifiers if part in _SHAPES)
    m, n, k = (int(part) for part in re.findall(r"\d+", shape))
    return {"a": (m, k), "b": (k, n)}.get(which, (m, n))


def _register_type(type_name: str) -> str:
    return "f32" if type_name == "f32" else "b32"


def _space(site: Site) -> str:
    return next((name for name in ("global", "shared") if name in site.modifiers), "generic")


@dataclass(frozen=True)
class _Matrix:
    """A matrix in memory: its extents and order, the bytes of an element, and where base and stride come from."""

    extents: tuple[int, int]
    is_row: bool
    nbytes: int
    base: Address
    stride: Source | None

    def rounds(self, chunk: "Chunk", lanes: Lanes) -> list[Addresses]:
        """Return the addresses of all elements, in rounds in which every lane has one."""
        warps = check_whole(chunk, lanes)
        starts = self.base.read(chunk, lanes).reshape(warps, 32)[:, :1]
        addresses = starts + self._offsets(self._strides(chunk, lanes).reshape(warps, 32)[:, :1])
        by_round = addresses.reshape(warps, -1, 32)
        return [np.ascontiguousarray(by_round[:, at]).reshape(-1) for at in range(by_round.shape[1])]

    def _strides(self, chunk: "Chunk", lanes: Lanes) -> Array:
        if self.stride is not None:
            return lanes.spread(self.stride.read(chunk, lanes)).astype(np.int64)
        return np.full(len(lanes), self.extents[1] if self.is_row else self.extents[0], np.int64)

    def _offsets(self, stride: Array) -> Addresses:
        """Return for each warp the byte offset of every element, counted by rows: (warps, elements)."""
        rows, columns = self.extents
        element = np.arange(rows * columns)
        row, column = element // columns, element % columns
        major, minor = (row, column) if self.is_row else (column, row)
        return ((stride * major + minor) * self.nbytes).astype(np.uint64)


def _matrix(site: Site, which: str, address_at: int) -> _Matrix:
    stride = site.source(2, "u32") if len(site.operands) > 2 else None
    nbytes = bits_of(site.type) // 8
    return _Matrix(_extents(site, which), "row" in site.modifiers, nbytes, site.address(address_at), stride)


def _load(which: str) -> Build:
    def build(site: Site) -> Step:
        site.expect(2, 3)
        matrix, space = _matrix(site, which, 1), _space(site)
        targets = [site.target(name, _register_type(site.type)) for name in site.parts(0)]
        dtype = unsigned(bits_of(site.type))
        copies = _copies(site, matrix.extents, len(targets))

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            rounds = [
                load(Request(chunk, lanes, where, dtype.itemsize, "read"), space, dtype)
                for where in matrix.rounds(chunk, lanes)
            ]
            elements = np.concatenate(rounds, axis=1).reshape(-1, 32, len(rounds))
            write_elements(chunk, lanes, targets, np.tile(elements, (1, 1, copies)))

        return Together(execute, ALL_LANES)

    return build


def _copies(site: Site, extents: tuple[int, int], registers: int) -> int:
    """Return how often the registers hold each element."""
    elements = extents[0] * extents[1] // 32
    held = registers * 32 // bits_of(site.type)
    if held % elements:
        raise site.unsupported(f"a fragment of {registers} registers")
    return held // elements


def _store(site: Site) -> Step:
    site.expect(2, 3)
    matrix, space, type_name = _matrix(site, "d", 0), _space(site), site.type
    sources = [site.source_of(name, _register_type(type_name)) for name in site.parts(1)]
    dtype = unsigned(bits_of(type_name))

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        elements = read_elements(chunk, lanes, sources, type_name).view(dtype)
        for at, where in enumerate(matrix.rounds(chunk, lanes)):
            values = np.ascontiguousarray(elements[:, :, at]).reshape(-1, 1)
            store(Request(chunk, lanes, where, dtype.itemsize, "write"), space, values)

    return Together(execute, ALL_LANES)


def _multiply(site: Site) -> Step:
    site.expect(4)
    d_type, c_type = site.types[0], site.types[-1]
    input_type = site.types[1] if len(site.types) == 4 else "f16"
    targets = [site.target(name, _register_type(d_type)) for name in site.parts(0)]
    sources = [
        [site.source_of(name, _register_type(type_name)) for name in site.parts(at)]
        for at, type_name in ((1, input_type), (2, input_type), (3, c_type))
    ]
    return Together(_multiplying(site, targets, sources, (d_type, input_type, c_type)), ALL_LANES)


def _multiplying(
    site: Site, targets: list[Target], sources: list[list[Source]], types: tuple[str, str, str]
) -> Execute:
    d_type, input_type, c_type = types
    extents = [_extents(site, which) for which in "abc"]

    def matrix(chunk: "Chunk", lanes: Lanes, at: int, type_name: str) -> Array:
        rows, columns = extents[at]
        elements = read_elements(chunk, lanes, sources[at], type_name)[:, :, : rows * columns // 32]
        numbers = as_numbers(elements, type_name)
        return numbers.transpose(0, 2, 1).reshape(-1, rows, columns)

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        check_whole(chunk, lanes)
        left, right = matrix(chunk, lanes, 0, input_type), matrix(chunk, lanes, 1, input_type)
        result = left @ right + matrix(chunk, lanes, 2, c_type)
        elements = as_elements(result, d_type).reshape(result.shape[0], -1, 32).transpose(0, 2, 1)
        write_elements(chunk, lanes, targets, elements)

    return execute


_PRODUCTS = words("f32.f32 f16.f16 f16.f32 f32.f16 f32.bf16.bf16.f32")
_ORDER = frozenset(words("aligned row col"))
_PLACED = _ORDER | {"global", "shared"}

ENTRIES: tuple[Entry, ...] = (
    *(
        Entry(f"wmma.load.{which}.sync.{shape}", words("f16 bf16"), _load(which), _PLACED)
        for which in "ab"
        for shape in _SHAPES
    ),
    *(Entry(f"wmma.load.c.sync.{shape}", words("f16 f32"), _load("c"), _PLACED) for shape in _SHAPES),
    *(Entry(f"wmma.store.d.sync.{shape}", words("f16 f32"), _store, _PLACED) for shape in _SHAPES),
    *(Entry(f"wmma.mma.sync.{shape}", _PRODUCTS, _multiply, _ORDER) for shape in _SHAPES),
)
