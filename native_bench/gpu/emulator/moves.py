"""`mov`, `cvta`, `ld` and `st`: PTX ISA chapter "Data Movement and Conversion"."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.access import load, store
from native_bench.gpu.emulator.entry import Build, Entry, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.memory import LOCAL_RANGE, RANGE_BITS, SHARED_RANGE
from native_bench.gpu.emulator.operands import VariableAddress
from native_bench.gpu.emulator.request import Request
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import DTYPES, bits_of, unsigned

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_MOVED = words("pred b16 b32 b64 u16 s16 u32 s32 u64 s64 f32 f64")
_LOADED = words("b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64")
_VECTORS = {"v2": 2, "v4": 4}
_ORDER = words("weak volatile relaxed acquire release cta cluster gpu sys")
_VOLATILE = frozenset({"volatile", "relaxed", "acquire", "release"})
_CACHING = words(
    "ca cg cs lu cv wb wt nc L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::64B L2::128B L2::256B"
)
_ALLOWED = frozenset({*_VECTORS, *_ORDER, *_CACHING})
_OFFSET = np.uint64((1 << RANGE_BITS) - 1)
_WINDOWS = {"shared": SHARED_RANGE, "local": LOCAL_RANGE}


def _mov(site: Site) -> Execute:
    site.expect(2)
    if site.operands[0].startswith("{"):
        return _unpacking(site)
    if site.operands[1].startswith("{"):
        return _packing(site)
    source, target = site.source(1, site.type), site.target(site.operands[0], site.type)
    return lambda chunk, lanes: target.write(chunk, lanes, source.read(chunk, lanes))


def _part_type(site: Site, count: int) -> str:
    width = bits_of(site.type) // count
    if site.type[0] != "b" or width not in (8, 16, 32):
        raise site.unsupported("packing of this type")
    return f"b{width}"


def _unpacking(site: Site) -> Execute:
    names = site.parts(0)
    part = _part_type(site, len(names))
    source = site.source(1, site.type)
    targets = [site.target(name, part) for name in names]

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        pieces = lanes.spread(source.read(chunk, lanes)).view(DTYPES[part]).reshape(len(lanes), len(names))
        for at, target in enumerate(targets):
            target.write(chunk, lanes, pieces[:, at].copy())

    return execute


def _packing(site: Site) -> Execute:
    names = site.parts(1)
    part = _part_type(site, len(names))
    sources = [site.source_of(name, part) for name in names]
    target = site.target(site.operands[0], site.type)

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        pieces = np.stack([lanes.spread(source.read(chunk, lanes)) for source in sources], axis=1)
        target.write(chunk, lanes, pieces.view(DTYPES[site.type])[:, 0])

    return execute


def _cvta(window: int, is_to: bool) -> Build:
    """Build `cvta`: a window's addresses carry its number when generic, and not in their own space."""

    def build(site: Site) -> Execute:
        site.expect(2)
        source, target = site.source(1, "u64"), site.target(site.operands[0], "u64")
        tag = np.uint64(window << RANGE_BITS)

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            address = source.read(chunk, lanes)
            if window:
                address = address & _OFFSET if is_to else address | tag
            target.write(chunk, lanes, address)

        return execute

    return build


def _isspacep(space: str) -> Build:
    def build(site: Site) -> Execute:
        site.expect(2)
        source, target = site.source(1, "u64"), site.target(site.operands[0], "pred")

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            ranges = source.read(chunk, lanes) >> np.uint64(RANGE_BITS)
            is_window = (ranges == SHARED_RANGE) | (ranges == LOCAL_RANGE)
            holds = ~is_window if space == "global" else ranges == _WINDOWS[space]
            target.write(chunk, lanes, holds)

        return execute

    return build


def _vector(site: Site) -> int:
    counts = [_VECTORS[modifier] for modifier in site.modifiers if modifier in _VECTORS]
    return counts[0] if counts else 1


def _ld(space: str) -> Callable[[Site], Execute]:
    def build(site: Site) -> Execute:
        site.expect(2)
        names = site.parts(0)
        address, dtype = site.address(1), DTYPES[site.type]
        targets = [site.target(name, site.type, is_widening=True) for name in names]
        if len(names) != _vector(site):
            raise site.unsupported("its vector")
        what = "volatile read" if _VOLATILE & set(site.modifiers) else "read"
        place = _parameter_space(site, address.base) if space == "param" else space
        width = dtype.itemsize * len(names)

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            request = Request(chunk, lanes, address.read(chunk, lanes), width, what)
            values = load(request, place, dtype)
            for at, target in enumerate(targets):
                target.write(chunk, lanes, values[:, at].copy())

        return execute

    return build


def _ld_param(site: Site) -> Execute:
    """Build `ld.param`: a kernel's parameter is one value for all threads."""
    base = site.address(1).base
    if not isinstance(base, VariableAddress) or site.names.variables[base.name] != "param":
        return _ld("param")(site)
    site.expect(2)
    names, dtype, offset = site.parts(0), DTYPES[site.type], site.address(1).offset
    targets = [site.target(name, site.type, is_widening=True) for name in names]
    size = dtype.itemsize
    if not site.are_in_parameter(base.name, offset, size * len(names)):
        raise site.unsupported("bytes beyond the parameter")

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        content = chunk.launch.parameters[base.name]
        for at, target in enumerate(targets):
            piece = content[offset + at * size : offset + (at + 1) * size]
            target.write(chunk, lanes, np.frombuffer(piece, dtype))

    return execute


def _parameter_space(site: Site, base: object) -> str:
    is_call = isinstance(base, VariableAddress) and site.names.variables[base.name] == "local"
    return "local" if is_call else "global"


def _st(space: str) -> Build:
    def build(site: Site) -> Execute:
        site.expect(2)
        names = site.parts(1)
        address = site.address(0)
        sources = [site.source_of(name, site.type, is_narrowing=True) for name in names]
        if len(names) != _vector(site):
            raise site.unsupported("its vector")
        what = "volatile write" if _VOLATILE & set(site.modifiers) else "write"
        place = _parameter_space(site, address.base) if space == "param" else space
        bits = unsigned(bits_of(site.type))

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            values = [lanes.spread(source.read(chunk, lanes)).view(bits) for source in sources]
            stacked = values[0][:, None] if len(values) == 1 else np.stack(values, axis=1)
            width = stacked.dtype.itemsize * len(sources)
            store(Request(chunk, lanes, address.read(chunk, lanes), width, what), place, stacked)

        return execute

    return build


def nothing(_site: Site) -> Execute:
    """Build an instruction that changes nothing a result depends on: hints to caches and schedulers."""
    return lambda _chunk, _lanes: None


_SPACES = ("global", "shared", "local")
_GENERIC = (*_SPACES, "generic")


def _named(opcode: str, space: str) -> str:
    return opcode if space == "generic" else f"{opcode}.{space}"


ENTRIES: tuple[Entry, ...] = (
    Entry("mov", _MOVED, _mov),
    Entry("cvta", ("u64",), _cvta(0, False), frozenset({"global", "const", "param"})),
    Entry("cvta.to", ("u64",), _cvta(0, True), frozenset({"global", "const", "param"})),
    *(Entry(f"cvta.{space}", ("u64",), _cvta(window, False)) for space, window in _WINDOWS.items()),
    *(Entry(f"cvta.to.{space}", ("u64",), _cvta(window, True)) for space, window in _WINDOWS.items()),
    *(Entry(f"isspacep.{space}", ("",), _isspacep(space)) for space in _SPACES),
    *(Entry(_named("ld", space), _LOADED, _ld(space), _ALLOWED) for space in (*_GENERIC, "const")),
    Entry("ld.param", _LOADED, _ld_param, frozenset(_VECTORS)),
    Entry("ldu.global", _LOADED, _ld("global"), frozenset(_VECTORS)),
    *(Entry(_named("st", space), _LOADED, _st(space), _ALLOWED) for space in _GENERIC),
    Entry("st.param", _LOADED, _st("param"), frozenset(_VECTORS)),
    Entry("prefetch", ("",), nothing, frozenset({"global", "local", "L1", "L2"})),
    Entry("nanosleep", ("u32",), nothing),
)
