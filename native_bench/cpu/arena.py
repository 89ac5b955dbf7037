"""Where the contestants' tensors lie, and the plan that tells the workers: the Python side of cpp/door.hpp."""

import math
import random
import struct
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from native_bench.memory import SharedMemory
from submissions.kernel_package.dtypes import DTYPE_BYTES
from submissions.kernel_package.problem import Problem

MAX_SLOTS = 72
_MAX_ARGUMENTS = 16
RED_ZONE_BYTES = 512
_PAGE = 4096
_LINE = 64

_HEAD = struct.Struct("<4Q")
_ORDER_AT = _HEAD.size
_SLOTS_AT = _ORDER_AT + 8 * MAX_SLOTS
_TENSOR = struct.Struct("<3Q")
_SLOT_BYTES = _MAX_ARGUMENTS * (_TENSOR.size + 8)
PLAN_BYTES = _SLOTS_AT + MAX_SLOTS * _SLOT_BYTES
DOOR_BYTES = _PAGE

_SCALAR_FORMATS = {
    "fp64": "d", "fp32": "f", "fp16": "e", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """One tensor of one slot: in the inputs (shared, read-only for workers) or in the contestant's outputs."""

    is_input: bool
    offset: int
    bytes: int


@dataclass(frozen=True)
class Arena:
    """The places of all slots, slot by slot in the problem's order of tensors."""

    slots: tuple[tuple[Place, ...], ...]
    input_bytes: int
    output_bytes: int


class SharedArena:
    """What all contestants of a set share with each other and the timer (cpp/shared.hpp).

    Which pages lie well in the caches is luck, and it shall be the same for all. Only one contestant runs at a
    time, and nothing of what it has written is left for the next.
    """

    def __init__(self, region_bytes: int) -> None:
        """Make the inputs and the outputs, of `region_bytes` each, the door, and the plan."""
        with ExitStack() as stack:
            self.inputs = stack.enter_context(SharedMemory("inputs", region_bytes))
            self.outputs = stack.enter_context(SharedMemory("outputs", region_bytes))
            self.door = stack.enter_context(SharedMemory("door", DOOR_BYTES))
            self.plan = stack.enter_context(SharedMemory("plan", PLAN_BYTES))
            self._stack = stack.pop_all()

    @property
    def memories(self) -> tuple[SharedMemory, ...]:
        return self.inputs, self.outputs, self.door, self.plan

    def output_bytes(self, place: Place) -> NDArray[np.uint8]:
        """Return a copy of what lies at a place of the outputs."""
        # Copied: a view of the shared pages would outlive their closing.
        return np.frombuffer(self.outputs.map, np.uint8, place.bytes, place.offset).copy()

    def timer_command(self) -> str:
        """Return what gives it to the timer."""
        regions = f"{self.inputs.fd} {self.inputs.size} {self.outputs.fd} {self.outputs.size}"
        return f"shared {regions} {self.door.fd} {self.plan.fd}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


@dataclass(frozen=True)
class Fault:
    """The signal a worker died of, as the system told its tracer; region 0: inputs, 1: outputs, 2: neither."""

    signal: int
    code: int
    address: int
    region: int
    offset: int


def arena_bytes(problem: Problem, dims: Mapping[str, int], slots: int) -> int:
    """Return an upper bound of the bytes that either region of an arena needs."""
    per_slot = problem.tensor_bytes_of(dims) + len(problem.tensors) * 4 * _PAGE
    return slots * per_slot + 4 * _PAGE


def lay_out(problem: Problem, dims: Mapping[str, int], slots: int, coin: random.Random) -> Arena:
    """Place every tensor at a random 64-byte offset of its own page, a red zone from its neighbours."""
    shapes = problem.shapes(dims)
    ends = {True: 0, False: _PAGE}
    placed = []
    for _ in range(slots):
        places = []
        for tensor in problem.tensors:
            is_input = tensor.role == "in"
            size = math.prod(shapes[tensor.name]) * DTYPE_BYTES[tensor.dtype]
            offset = _page_after(ends[is_input]) + _LINE * coin.randrange(_PAGE // _LINE)
            places.append(Place(is_input, offset, size))
            ends[is_input] = offset + size + RED_ZONE_BYTES
        placed.append(tuple(places))
    return Arena(tuple(placed), ends[True] + _PAGE, ends[False] + _PAGE)


def write_plan(plan: SharedMemory, problem: Problem, arena: Arena, dims: Mapping[str, int]) -> None:
    """Write all slots; their order is written before each batch, by `write_order` or by the timer."""
    values = problem.scalar_values(dims)
    scalars = b"".join(scalar_bytes(scalar.dtype, values[scalar.name]) for scalar in problem.scalars)
    _HEAD.pack_into(plan.map, 0, len(problem.tensors), len(problem.scalars), problem.mode == "cold", 0)
    for slot, places in enumerate(arena.slots):
        at = _SLOTS_AT + slot * _SLOT_BYTES
        for place in places:
            _TENSOR.pack_into(plan.map, at, 0 if place.is_input else 1, place.offset, place.bytes)
            at += _TENSOR.size
        at = _SLOTS_AT + slot * _SLOT_BYTES + _MAX_ARGUMENTS * _TENSOR.size
        plan.map[at : at + len(scalars)] = scalars


def write_order(plan: SharedMemory, slots: Sequence[int]) -> None:
    """Ask for these slots, in this order."""
    struct.pack_into("<Q", plan.map, _HEAD.size - 8, len(slots))
    struct.pack_into(f"<{len(slots)}Q", plan.map, _ORDER_AT, *slots)


def scalar_bytes(dtype: str, value: int | float) -> bytes:
    """Return a scalar as the wrapper reads it, padded to 8 bytes."""
    if dtype == "bf16":
        return struct.pack("<f", value)[2:].ljust(8, b"\0")
    return struct.pack(f"<{_SCALAR_FORMATS[dtype]}", value).ljust(8, b"\0")


def place_at(arena: Arena, fault: Fault) -> tuple[int, int] | None:
    """Return (slot, tensor index) of the tensor that a fault lies in or just behind."""
    for slot, places in enumerate(arena.slots):
        for index, place in enumerate(places):
            is_same_region = place.is_input == (fault.region == 0)
            if is_same_region and place.offset <= fault.offset < place.offset + place.bytes + RED_ZONE_BYTES:
                return slot, index
    return None


def _page_after(offset: int) -> int:
    return (offset + _PAGE - 1) // _PAGE * _PAGE
