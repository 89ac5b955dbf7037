"""`cp.async`: copies from global to shared memory that are visible only after their thread has waited for them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.access import gather, granules_of
from native_bench.gpu.emulator.entry import Build, Entry, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.lanes import LaneNumbers, Lanes
from native_bench.gpu.emulator.races import AccessTable, Places, Who
from native_bench.gpu.emulator.request import Request
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.spaces import raise_conflict

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk


@dataclass
class _Copy:
    table: AccessTable
    lanes: LaneNumbers
    granules: list[Places]
    group: NDArray[np.int64]


@dataclass
class PendingCopies:
    """The copies under way in a chunk, and how many groups each lane has committed."""

    committed: NDArray[np.int64]
    copies: list[_Copy] = field(default_factory=list)

    def finish(self, chunk: "Chunk", lanes: Lanes, but_newest: int | None) -> None:
        """End the lanes' copies of all groups but their newest ones; None: also those not yet committed."""
        limit = np.full(self.committed.size, -1, np.int64)
        limit[lanes.index] = (
            self.committed[lanes.index] - but_newest if but_newest is not None else np.iinfo(np.int64).max
        )
        rest = []
        for copy in self.copies:
            is_done = copy.group < limit[copy.lanes]
            if is_done.any():
                self._end(chunk, copy, is_done)
            if not is_done.all():
                keep = ~is_done
                granules = [part[keep] for part in copy.granules]
                rest.append(_Copy(copy.table, copy.lanes[keep], granules, copy.group[keep]))
        self.copies = rest

    @staticmethod
    def _end(chunk: "Chunk", copy: _Copy, is_done: NDArray[np.bool_]) -> None:
        who = Who(chunk, Lanes(copy.lanes[is_done], False))
        for part in copy.granules:
            copy.table.end_copy(part[is_done], who)


def copies_of(chunk: "Chunk") -> PendingCopies:
    """Return the chunk's copies under way."""
    if chunk.copies is None:
        chunk.copies = PendingCopies(np.zeros(chunk.lane_count, np.int64))
    return chunk.copies


def _copy(kind: str) -> Build:
    def build(site: Site) -> Execute:
        site.expect(3, 4)
        size = site.integer(2)
        if size not in ((16,) if kind == "cg" else (4, 8, 16)):
            raise site.unsupported(f"{size} bytes")
        to, from_ = site.address(0), site.address(1)
        taken = site.source(3, "u32") if len(site.operands) == 4 else None

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            count = np.full(len(lanes), size) if taken is None else lanes.spread(taken.read(chunk, lanes))
            source = Request(chunk, lanes, from_.read(chunk, lanes), size, "read")
            octets = _fetched(source, np.minimum(count, size))
            _start(Request(chunk, lanes, to.read(chunk, lanes), size, "asynchronous write"), octets)

        return execute

    return build


def _fetched(request: Request, counts: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes to copy, (lanes, size): the first ones from memory, as many as counted, zeros behind."""
    request.check_alignment("global")
    out = np.zeros((len(request.lanes), request.width), np.uint8)
    space = request.chunk.space("global")
    for at in range(request.width):
        chosen = counts > at
        if chosen.any():
            part = request.part(chosen)
            single = Request(part.chunk, part.lanes, part.address + np.uint64(at), 1, "read")
            out[chosen, at] = gather(space, space.locate(single), np.dtype(np.uint8))[:, 0]
    return out


def _start(request: Request, octets: NDArray[np.uint8]) -> None:
    """Copy at once, but mark the places: until their thread has waited, nobody may touch them."""
    request.check_alignment("shared")
    chunk, lanes, space = request.chunk, request.lanes, request.chunk.space("shared")
    places, table = space.locate(request), space.table
    if table is None:
        return
    pending, who = copies_of(chunk), Who(chunk, lanes)
    granules = granules_of(chunk, places, request.width)
    for part in granules:
        conflict = table.begin_copy(part, who)
        if conflict is not None:
            raise_conflict(space, request, conflict)
    space.octets[places[:, None] + np.arange(request.width)] = octets
    pending.copies.append(_Copy(table, lanes.index, granules, pending.committed[lanes.index].copy()))


def _commit(site: Site) -> Execute:
    site.expect(0)

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        copies_of(chunk).committed[lanes.index] += 1

    return execute


def _wait_group(site: Site) -> Execute:
    site.expect(1)
    newest = site.integer(0)
    return lambda chunk, lanes: copies_of(chunk).finish(chunk, lanes, newest)


def _wait_all(site: Site) -> Execute:
    site.expect(0)
    return lambda chunk, lanes: copies_of(chunk).finish(chunk, lanes, None)


_HINTS = frozenset(words("L2::64B L2::128B L2::256B"))

ENTRIES: tuple[Entry, ...] = (
    *(Entry(f"cp.async.{kind}.shared.global", ("",), _copy(kind), _HINTS) for kind in ("ca", "cg")),
    Entry("cp.async.commit_group", ("",), _commit),
    Entry("cp.async.wait_group", ("",), _wait_group),
    Entry("cp.async.wait_all", ("",), _wait_all),
)
