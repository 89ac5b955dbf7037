"""Operations of a warp: shuffles, votes, matches and reductions. The stepping loop has gathered the lanes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from native_bench.gpu.emulator.entry import Entry, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.faults import FaultKind
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.operands import Source, Target
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.steps import Step, Together
from native_bench.gpu.emulator.value_types import Array

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

Masks = NDArray[np.uint32]


def lanes_in_warp(chunk: "Chunk", lanes: Lanes) -> NDArray[np.int64]:
    """Return each lane's number in its warp."""
    return lanes.of(chunk.slot) & 31


def warps_of(chunk: "Chunk", lanes: Lanes) -> NDArray[np.int64]:
    """Return each lane's warp, numbered through the chunk."""
    return lanes.of(chunk.slot) >> 5


def _in_slots(chunk: "Chunk", lanes: Lanes, values: Array) -> Array:
    """Return values at the lanes' places in whole warps, (warps, 32)."""
    out = np.zeros(chunk.warp_count * 32, values.dtype)
    out[lanes.of(chunk.slot)] = values
    return out.reshape(-1, 32)


def _mask_of(flags: NDArray[np.bool_]) -> Masks:
    packed = np.packbits(flags, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)[..., 0]


def _shuffle(mode: str) -> Callable[[Site], Step]:
    def build(site: Site) -> Step:
        site.expect(5)
        names = [name.strip() for name in site.operands[0].split("|")]
        target = site.target(names[0], "b32")
        is_valid = site.target(names[1], "pred") if len(names) > 1 else None
        value, other, clamp = site.source(1, "b32"), site.source(2, "u32"), site.source(3, "u32")
        mask = site.source(4, "u32")

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            lane = lanes_in_warp(chunk, lanes)
            source, in_range = _source_lane(mode, lane, other.read(chunk, lanes), clamp.read(chunk, lanes))
            _check_takes_part(chunk, lanes, source, mask.read(chunk, lanes))
            held = _in_slots(chunk, lanes, lanes.spread(value.read(chunk, lanes)))
            target.write(chunk, lanes, held[warps_of(chunk, lanes), source])
            if is_valid is not None:
                is_valid.write(chunk, lanes, in_range)

        return Together(execute, mask)

    return build


def _source_lane(mode: str, lane: Array, other: Array, clamp: Array) -> tuple[Array, Array]:
    """Return the lane read by each, and whether it is in range (PTX ISA, `shfl.sync`)."""
    offset, limit = other.astype(np.int64) & 31, clamp.astype(np.int64)
    segment = limit >> 8 & 31
    least = lane & segment
    most = least | (limit & 31 & ~segment)
    source = {
        "up": lane - offset,
        "down": lane + offset,
        "bfly": lane ^ offset,
        "idx": least | (offset & ~segment),
    }[mode]
    in_range = source >= most if mode == "up" else source <= most
    return np.where(in_range, source, lane), in_range


def _check_takes_part(chunk: "Chunk", lanes: Lanes, source: Array, mask: Masks) -> None:
    taking_part = chunk.present(lanes)[warps_of(chunk, lanes)] & mask
    missing = np.flatnonzero((taking_part >> source.astype(np.uint32) & np.uint32(1)) == 0)
    if missing.size:
        at = int(missing[0])
        message = f"a shuffle reads lane {int(source[at])}, which does not take part"
        raise chunk.fault(FaultKind.WARP_MASK, message, lanes, at)


def _vote(how: str) -> Callable[[Site], Step]:
    def build(site: Site) -> Step:
        site.expect(3)
        target = site.target(site.operands[0], site.type)
        value, mask = site.source(1, "pred"), site.source(2, "u32")

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            flags = _in_slots(chunk, lanes, lanes.spread(value.read(chunk, lanes)))
            wanted = mask.read(chunk, lanes)
            warp = warps_of(chunk, lanes)
            ballot = _mask_of(flags)[warp] & wanted
            everyone = chunk.present(lanes)[warp] & wanted
            answers = {
                "ballot": ballot,
                "all": ballot == everyone,
                "any": ballot != 0,
                "uni": (ballot == everyone) | (ballot == 0),
            }
            target.write(chunk, lanes, answers[how])

        return Together(execute, mask)

    return build


def _match(is_all: bool) -> Callable[[Site], Step]:
    def build(site: Site) -> Step:
        site.expect(3)
        names = [name.strip() for name in site.operands[0].split("|")]
        target = site.target(names[0], "b32")
        is_same = site.target(names[1], "pred") if len(names) > 1 else None
        value, mask = site.source(1, site.type), site.source(2, "u32")

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            wanted, warp = mask.read(chunk, lanes), warps_of(chunk, lanes)
            own = lanes.spread(value.read(chunk, lanes))
            held = _in_slots(chunk, lanes, own)
            everyone = chunk.present(lanes)[warp] & wanted
            equal = _mask_of(held[warp] == own[:, None]) & everyone
            if is_all:
                equal = np.where(equal == everyone, equal, np.uint32(0))
            target.write(chunk, lanes, equal)
            if is_same is not None:
                is_same.write(chunk, lanes, equal != 0)

        return Together(execute, mask)

    return build


_REDUCE: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _redux(how: str) -> Callable[[Site], Step]:
    def build(site: Site) -> Step:
        site.expect(3)
        target = site.target(site.operands[0], site.type)
        value, mask = site.source(1, site.type), site.source(2, "u32")

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            # Several masks may divide one warp: every mask of every warp is a group of its own.
            groups = warps_of(chunk, lanes) << np.int64(32) | lanes.spread(mask.read(chunk, lanes))
            order = np.argsort(groups, kind="stable")
            starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
            sums = _REDUCE[how].reduceat(lanes.spread(value.read(chunk, lanes))[order], starts)
            out = np.empty(len(lanes), sums.dtype)
            out[order] = np.repeat(sums, np.diff(np.append(starts, len(lanes))))
            target.write(chunk, lanes, out)

        return Together(execute, mask)

    return build


def _active_mask(site: Site) -> Execute:
    site.expect(1)
    target = site.target(site.operands[0], "b32")

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        target.write(chunk, lanes, chunk.present(lanes)[warps_of(chunk, lanes)])

    return execute


def _elect(site: Site) -> Step:
    """Build `elect.sync`: the lowest lane of the mask is the leader."""
    site.expect(2)
    names = [name.strip() for name in site.operands[0].split("|")]
    if len(names) != 2:
        raise site.unsupported("its results")
    leader, is_leader, mask = site.target(names[0], "b32"), site.target(names[1], "pred"), site.source(1, "u32")
    return Together(_electing(leader, is_leader, mask), mask)


def _electing(leader: Target, is_leader: Target, mask: Source) -> Execute:
    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        taking_part = chunk.present(lanes)[warps_of(chunk, lanes)] & mask.read(chunk, lanes)
        lowest = np.bitwise_count((taking_part & (~taking_part + np.uint32(1))) - np.uint32(1)).astype(np.uint32)
        leader.write(chunk, lanes, lowest)
        is_leader.write(chunk, lanes, lanes_in_warp(chunk, lanes) == lowest)

    return execute


ENTRIES: tuple[Entry, ...] = (
    *(Entry(f"shfl.sync.{mode}", ("b32",), _shuffle(mode)) for mode in words("idx up down bfly")),
    Entry("vote.sync.ballot", ("b32",), _vote("ballot")),
    *(Entry(f"vote.sync.{how}", ("pred",), _vote(how)) for how in words("all any uni")),
    Entry("match.any.sync", words("b32 b64"), _match(False)),
    Entry("match.all.sync", words("b32 b64"), _match(True)),
    *(Entry(f"redux.sync.{how}", words("u32 s32"), _redux(how)) for how in words("add min max")),
    *(Entry(f"redux.sync.{how}", ("b32",), _redux(how)) for how in words("and or xor")),
    Entry("activemask", ("b32",), _active_mask),
    Entry("elect.sync", ("",), _elect),
)
