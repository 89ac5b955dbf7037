"""Layouts and plans: nothing overlaps, red zones fit, and C++ and Python agree on every offset."""

import itertools
import os
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from native_bench.cpu.arena import (
    PLAN_BYTES,
    RED_ZONE_BYTES,
    Fault,
    arena_bytes,
    lay_out,
    place_at,
    scalar_bytes,
    write_order,
    write_plan,
)
from native_bench.cpu.trusted import SOURCES
from native_bench.memory import SharedMemory
from submissions.kernel_package.problem import Problem


def test_it_keeps_tensors_apart(problem: Problem) -> None:
    dims = {"n": 1001}
    arena = lay_out(problem, dims, 9, random.Random(1))
    assert max(arena.input_bytes, arena.output_bytes) <= arena_bytes(problem, dims, 9)
    for is_input in (True, False):
        places = sorted(
            (place.offset, place.bytes) for slot in arena.slots for place in slot if place.is_input is is_input
        )
        assert all(offset % 64 == 0 for offset, _ in places)
        for (offset, size), (following, _) in itertools.pairwise(places):
            assert offset + size + RED_ZONE_BYTES <= following
        if not is_input:
            assert places[0][0] >= RED_ZONE_BYTES
            assert places[-1][0] + places[-1][1] + RED_ZONE_BYTES <= arena.output_bytes


def test_it_places_anew_each_time(problem: Problem) -> None:
    coin = random.Random(1)
    assert lay_out(problem, {"n": 10}, 2, coin) != lay_out(problem, {"n": 10}, 2, coin)


def test_it_names_the_tensor_of_a_fault(problem: Problem) -> None:
    arena = lay_out(problem, {"n": 100}, 2, random.Random(1))
    place = arena.slots[1][2]
    assert place_at(arena, Fault(11, 1, 0, 1, place.offset + 3)) == (1, 2)
    assert place_at(arena, Fault(11, 1, 0, 1, 0)) is None


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("fp32", 1.0, b"\0\0\x80\x3f\0\0\0\0"),
        ("bf16", 1.0, b"\x80\x3f\0\0\0\0\0\0"),
        ("fp16", 1.0, b"\0\x3c\0\0\0\0\0\0"),
        ("i64", -1, b"\xff" * 8),
        ("u8", 200, b"\xc8" + b"\0" * 7),
    ],
)
def test_it_packs_scalars_as_the_wrapper_reads_them(dtype: str, value: float, expected: bytes) -> None:
    assert scalar_bytes(dtype, value) == expected


def test_its_plan_is_read_alike_in_cpp(problem: Problem, tmp_path: Path) -> None:
    arena = lay_out(problem, {"n": 33}, 3, random.Random(2))
    with SharedMemory("plan", PLAN_BYTES) as plan:
        write_plan(plan, problem, arena, {"n": 33})
        write_order(plan, [2, 0])
        (tmp_path / "plan").write_bytes(plan.map[:])
    reader = tmp_path / "reader.cpp"
    reader.write_text(
        """
#include <cstdio>
#include <cstdlib>
#include "door.hpp"
int main(int, char** argv) {
    static zoo::Plan plan;
    std::FILE* file = std::fopen(argv[1], "rb");
    if (std::fread(&plan, sizeof plan, 1, file) != 1) return 1;
    std::printf("%zu\\n", sizeof plan);
    std::printf("%lu %lu %lu %lu ", plan.tensors, plan.scalars, plan.is_cold, plan.count);
    std::printf("%lu %lu\\n", plan.order[0], plan.order[1]);
    for (const auto& tensor : plan.slots[2].tensors)
        if (tensor.bytes != 0) std::printf("%lu %lu %lu\\n", tensor.region, tensor.offset, tensor.bytes);
    std::printf("%lu\\n", plan.slots[2].scalars[1]);
}
"""
    )
    subprocess.run(["g++", "-std=c++20", f"-I{SOURCES}", reader, "-o", tmp_path / "reader"], check=True)
    printed = subprocess.run(
        [tmp_path / "reader", tmp_path / "plan"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert printed[0] == f"{PLAN_BYTES}"
    assert printed[1] == "3 2 0 2 2 0"
    expected = [f"{0 if place.is_input else 1} {place.offset} {place.bytes}" for place in arena.slots[2]]
    assert printed[2:5] == expected
    assert printed[5] == "33"


def test_its_memory_cannot_be_shrunk_by_a_worker() -> None:
    with SharedMemory("sealed", 5000) as memory:
        assert memory.size == 8192
        with pytest.raises(OSError, match="Operation not permitted"):
            os.ftruncate(memory.fd, 0)
        memory.bytes[:] = 7
        assert np.frombuffer(os.pread(memory.read_only_fd, 16, 0), np.uint8).tolist() == [7] * 16
