"""Arithmetic of numbers longer than a register: `add.cc`, `addc` and their kin, with one carry flag a thread."""

from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.entry import Build, Entry, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.integer_math import high_product
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import Array, unsigned

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_TYPES = words("u32 s32 u64 s64")


def _sum(x: Array, y: Array, carry: Array) -> tuple[Array, Array]:
    """Return x + y + carry of unsigned numbers, and the carry out."""
    partial = x + y
    total = partial + carry
    return total, (partial < x) | (total < partial)


def _difference(x: Array, y: Array, borrow: Array) -> tuple[Array, Array]:
    """Return x - y - borrow of unsigned numbers, and the borrow out."""
    partial = x - y
    return partial - borrow, (x < y) | (partial < borrow)


def _build(opcode: str) -> Build:
    """Build an instruction that takes the flag in (its name ends with c), leaves it behind (`.cc`), or both."""

    def build(site: Site) -> Execute:
        takes, leaves = site.opcode.endswith("c"), "cc" in site.modifiers
        read = [site.source(at, site.type) for at in range(1, 4 if opcode == "mad" else 3)]
        site.expect(1 + len(read))
        target, part = site.target(site.operands[0], site.type), "hi" if "hi" in site.modifiers else "lo"
        combine = _difference if opcode == "sub" else _sum

        def execute(chunk: "Chunk", lanes: Lanes) -> None:
            first, *others = (source.read(chunk, lanes) for source in read)
            if opcode == "mad":
                first = high_product(first, others.pop(0)) if part == "hi" else first * others.pop(0)
            bits = unsigned(8 * first.dtype.itemsize)
            flag = lanes.of(chunk.carry).astype(bits) if takes else np.zeros(1, bits)
            result, out = combine(first.view(bits), others[0].view(bits), flag)
            target.write(chunk, lanes, result)
            if leaves:
                chunk.carry[lanes.index] = out

        return execute

    return build


def _entries(opcode: str, parts: tuple[str, ...]) -> list[Entry]:
    """Return the entries of all three forms: flag out, in, and both."""
    forms = ((opcode, ".cc"), (f"{opcode}c", ""), (f"{opcode}c", ".cc"))
    return [Entry(f"{name}{part}{cc}", _TYPES, _build(opcode)) for name, cc in forms for part in parts]


ENTRIES: tuple[Entry, ...] = (
    *_entries("add", ("",)),
    *_entries("sub", ("",)),
    *_entries("mad", (".lo", ".hi")),
)
