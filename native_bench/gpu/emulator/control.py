"""Control flow, barriers and fences: PTX ISA chapters "Control Flow" and "Parallel Synchronization"."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.access import load
from native_bench.gpu.emulator.entry import Entry, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.faults import FaultKind
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.memory import RANGE_BITS
from native_bench.gpu.emulator.moves import nothing
from native_bench.gpu.emulator.operands import Literal
from native_bench.gpu.emulator.request import Request
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.steps import Barrier, Jump, Leave, Step, Together
from native_bench.gpu.emulator.value_types import DTYPES

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_LONGEST_TEXT = 512


def _branch(site: Site) -> Step:
    site.expect(1)
    return Jump((site.operands[0],))


def _table_branch(site: Site) -> Step:
    site.expect(2)
    labels = site.names.branch_targets.get(site.operands[1])
    if labels is None:
        raise site.unsupported("its table")
    return Jump(labels, site.source(0, "u32"))


def _leave(site: Site) -> Step:
    site.expect(0)
    return Leave()


def _trap(site: Site) -> Execute:
    site.expect(0)

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        raise chunk.fault(FaultKind.TRAP, f"the kernel executed {site.opcode}", lanes)

    return execute


def _assertion(site: Site) -> Execute:
    """Build the call of the device runtime's failed assertion: (message, file, line, function, character size)."""
    site.expect(5)
    message = site.names.variables.get(site.operands[0])
    if message != "local":
        raise site.unsupported()

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        first = Lanes(lanes.index[:1], False)
        address = np.array([chunk.address_of(site.operands[0])], np.uint64)
        pointer = load(Request(chunk, first, address, 8, "read"), "local", DTYPES["u64"])
        text = _text_at(chunk, int(pointer[0, 0]))
        raise chunk.fault(FaultKind.ASSERTION, f"the assertion {text!r} failed", lanes)

    return execute


def _text_at(chunk: "Chunk", address: int) -> str:
    buffer = chunk.launch.memory.buffer_of(address >> RANGE_BITS)
    if buffer is None:
        return "?"
    start = buffer.start + address - buffer.address
    content = bytes(chunk.launch.memory.arena[start : start + _LONGEST_TEXT])
    return content.split(b"\0")[0].decode("utf-8", "replace")


def _print(site: Site) -> Execute:
    """Build the call of `vprintf`: nothing is printed, the answer is that all arguments were."""
    site.expect(2)
    return nothing(site)


def _barrier(site: Site, is_aligned: bool, waits: bool = True) -> Step:
    site.expect(1 if waits else 2, 2)
    count = site.source(1, "u32") if len(site.operands) > 1 else None
    return Barrier(site.source(0, "u32"), count, waits, is_aligned)


def _reducing(how: str) -> Callable[[Site], Step]:
    def build(site: Site) -> Step:
        site.expect(3, 4)
        count = site.source(2, "u32") if len(site.operands) == 4 else None
        value, target = site.source(len(site.operands) - 1, "pred"), site.target(site.operands[0], site.type)
        return Barrier(site.source(1, "u32"), count, True, True, how, value, target)

    return build


def _warp_barrier(site: Site) -> Step:
    site.expect(1)
    return Together(nothing(site), site.source(0, "u32"), is_meeting=True)


def _fence(site: Site) -> Execute:
    site.expect(0)
    return lambda chunk, lanes: chunk.note_fence(lanes)


ALL_LANES = Literal(np.array([0xFFFF_FFFF], DTYPES["u32"]))

_SCOPES = frozenset(words("cta gpu sys gl sc acq_rel"))

ENTRIES: tuple[Entry, ...] = (
    Entry("bra", ("",), _branch, frozenset({"uni"})),
    Entry("brx.idx", ("",), _table_branch, frozenset({"uni"})),
    Entry("ret", ("",), _leave, frozenset({"uni"})),
    Entry("exit", ("",), _leave),
    Entry("trap", ("",), _trap),
    Entry("brkpt", ("",), _trap),
    Entry("call.__assertfail", ("",), _assertion),
    Entry("call.vprintf", ("",), _print),
    Entry("bar.sync", ("",), lambda site: _barrier(site, True)),
    Entry("bar.cta.sync", ("",), lambda site: _barrier(site, True)),
    Entry("bar.arrive", ("",), lambda site: _barrier(site, True, waits=False)),
    Entry("barrier.sync", ("",), lambda site: _barrier(site, "aligned" in site.modifiers), frozenset({"aligned"})),
    Entry(
        "barrier.cta.sync", ("",), lambda site: _barrier(site, "aligned" in site.modifiers), frozenset({"aligned"})
    ),
    Entry("barrier.arrive", ("",), lambda site: _barrier(site, True, waits=False), frozenset({"aligned"})),
    Entry("bar.red.popc", ("u32",), _reducing("popc")),
    Entry("bar.red.and", ("pred",), _reducing("and")),
    Entry("bar.red.or", ("pred",), _reducing("or")),
    Entry("barrier.red.popc", ("u32",), _reducing("popc"), frozenset({"aligned"})),
    Entry("barrier.red.and", ("pred",), _reducing("and"), frozenset({"aligned"})),
    Entry("barrier.red.or", ("pred",), _reducing("or"), frozenset({"aligned"})),
    Entry("bar.warp.sync", ("",), _warp_barrier),
    Entry("membar", ("",), _fence, _SCOPES),
    Entry("fence", ("",), _fence, _SCOPES),
)
