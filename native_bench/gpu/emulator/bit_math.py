"""Logic, shifts and bit fields: PTX ISA chapter "Logic and Shift" and the bit instructions of "Integer"."""

from typing import TYPE_CHECKING

import numpy as np

from native_bench.gpu.emulator.entry import Compute, Entry, plain, pure, words
from native_bench.gpu.emulator.execute import Execute
from native_bench.gpu.emulator.lanes import Lanes
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.value_types import DTYPES, Array, unsigned

if TYPE_CHECKING:
    from native_bench.gpu.emulator.chunk import Chunk

_ALL = words("u16 s16 u32 s32 u64 s64")
_BITS = words("b16 b32 b64")


def _amount(shift: Array, width: int) -> tuple[Array, Array]:
    """Return the shift within the width, and where it is beyond it."""
    return np.minimum(shift, width - 1), shift >= width


def _shift_left(x: Array, shift: Array) -> Array:
    amount, is_over = _amount(shift, 8 * x.dtype.itemsize)
    answer: Array = np.where(is_over, x.dtype.type(0), x << amount.astype(x.dtype))
    return answer


def _shift_right(x: Array, shift: Array) -> Array:
    amount, is_over = _amount(shift, 8 * x.dtype.itemsize)
    moved = x >> amount.astype(x.dtype)
    answer: Array = moved if x.dtype.kind == "i" else np.where(is_over, x.dtype.type(0), moved)
    return answer


def _funnel(site: Site) -> Compute:
    is_left, wraps = "l" in site.modifiers, "wrap" in site.modifiers
    if is_left == ("r" in site.modifiers) or wraps == ("clamp" in site.modifiers):
        raise site.unsupported()

    def compute(low: Array, high: Array, shift: Array) -> Array:
        both = high.astype(np.uint64) << np.uint64(32) | low
        amount = (shift & 31 if wraps else np.minimum(shift, 32)).astype(np.uint64)
        moved = both << amount >> np.uint64(32) if is_left else both >> amount
        return moved.astype(np.uint32)

    return compute


def _logic3(site: Site) -> Execute:
    """Build `lop3`: bit i of the table is the answer for the bits of the three sources that spell i."""
    site.expect(5)
    table, target = site.integer(4), site.target(site.operands[0], "b32")
    read = [site.source(at, "b32") for at in (1, 2, 3)]

    def execute(chunk: "Chunk", lanes: Lanes) -> None:
        x, y, z = (source.read(chunk, lanes) for source in read)
        out = np.zeros(np.broadcast_shapes(x.shape, y.shape, z.shape), np.uint32)
        for row in range(8):
            if table >> row & 1:
                out |= (x if row & 4 else ~x) & (y if row & 2 else ~y) & (z if row & 1 else ~z)
        target.write(chunk, lanes, out)

    return execute


def _bit_field_extract(x: Array, position: Array, length: Array) -> Array:
    width = 8 * x.dtype.itemsize
    at, count = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
    bits = x.view(unsigned(width))
    field = _shift_right(bits, at.astype(np.uint32)) & _low_bits(count, width)
    if x.dtype.kind == "u":
        return field
    # The sign is the field's top bit, or the value's where the field reaches beyond it or is empty.
    top = np.minimum(np.maximum(at + count - 1, 0), width - 1).astype(x.dtype)
    sign = (x >> top) & x.dtype.type(1)
    taken = np.minimum(count, np.maximum(width - at, 0))
    fill = np.where((sign != 0) & (count > 0), ~_low_bits(taken, width), unsigned(width).type(0))
    return (field | fill).view(x.dtype)


def _low_bits(count: Array, width: int) -> Array:
    """Return `count` set bits, at most `width`."""
    one = unsigned(width).type(1)
    inside = np.minimum(count, width - 1).astype(unsigned(width))
    answer: Array = np.where(count >= width, ~unsigned(width).type(0), (one << inside) - one)
    return answer


def _bit_field_insert(new: Array, old: Array, position: Array, length: Array) -> Array:
    width = 8 * new.dtype.itemsize
    at = (position & 255).astype(np.uint32)
    mask = _shift_left(_low_bits((length & 255).astype(np.int64), width), at)
    return (old & ~mask) | (_shift_left(new, at) & mask)


def _leading_zeros(x: Array) -> Array:
    return (8 * x.dtype.itemsize - 1 - _top_bit(x)).astype(np.uint32)


def _top_bit(x: Array) -> Array:
    """Return the number of the highest set bit, -1 for zero."""
    found, rest = np.full(x.shape, -1, np.int64), x.astype(np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        is_above = (rest >> np.uint64(step)) != 0
        found = found + np.where(is_above, step, 0)
        rest = np.where(is_above, rest >> np.uint64(step), rest)
    answer: Array = found + (rest != 0)
    return answer


def _find_top(site: Site) -> Compute:
    width, as_shift = 8 * DTYPES[site.type].itemsize, "shiftamt" in site.modifiers

    def compute(x: Array) -> Array:
        # In a negative number the highest bit that differs from the sign counts.
        bits = np.where(x < 0, ~x, x).view(unsigned(width))
        top = _top_bit(bits)
        answer = np.where(top < 0, -1, width - 1 - top) if as_shift else top
        return answer.astype(np.int32).view(np.uint32)

    return compute


def _reversed_bits(x: Array) -> Array:
    octets = np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
    flipped = np.packbits(np.unpackbits(octets, axis=-1), axis=-1, bitorder="little")
    return np.ascontiguousarray(flipped[..., ::-1]).view(x.dtype)[..., 0]


def _permuted(site: Site) -> Compute:
    def compute(low: Array, high: Array, selector: Array) -> Array:
        low, high, selector = np.broadcast_arrays(low, high, selector)
        both = high.astype(np.uint64) << np.uint64(32) | low
        out = np.zeros(both.shape, np.uint32)
        for place in range(4):
            choice = (selector >> np.uint32(4 * place)).astype(np.uint64)
            octet = (both >> ((choice & 7) * 8)).astype(np.uint32) & 0xFF
            sign = np.where(octet & 0x80, np.uint32(0xFF), np.uint32(0))
            out |= np.where(choice & 8, sign, octet) << np.uint32(8 * place)
        return out

    return compute


ENTRIES: tuple[Entry, ...] = (
    pure("and", (*_BITS, "pred"), plain(lambda x, y: x & y), "0 0 -> 0"),
    pure("or", (*_BITS, "pred"), plain(lambda x, y: x | y), "0 0 -> 0"),
    pure("xor", (*_BITS, "pred"), plain(lambda x, y: x ^ y), "0 0 -> 0"),
    pure("not", (*_BITS, "pred"), plain(lambda x: ~x), "0 -> 0"),
    pure("cnot", _BITS, plain(lambda x: (x == 0).astype(x.dtype)), "0 -> 0"),
    pure("shl", _BITS, plain(_shift_left), "0 u32 -> 0"),
    pure("shr", (*_ALL, *_BITS), plain(_shift_right), "0 u32 -> 0"),
    Entry("lop3", ("b32",), _logic3),
    pure("shf", ("b32",), _funnel, "b32 b32 u32 -> b32", "l r wrap clamp"),
    pure("bfe", words("u32 s32 u64 s64"), plain(_bit_field_extract), "0 u32 u32 -> 0"),
    pure("bfi", words("b32 b64"), plain(_bit_field_insert), "0 0 u32 u32 -> 0"),
    pure("popc", words("b32 b64"), plain(lambda x: np.bitwise_count(x).astype(np.uint32)), "0 -> u32"),
    pure("clz", words("b32 b64"), plain(_leading_zeros), "0 -> u32"),
    pure("bfind", words("u32 s32 u64 s64"), _find_top, "0 -> u32", "shiftamt"),
    pure("brev", words("b32 b64"), plain(_reversed_bits), "0 -> 0"),
    pure("prmt", ("b32",), _permuted, "b32 b32 u32 -> b32"),
)
