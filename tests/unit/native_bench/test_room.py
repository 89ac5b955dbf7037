"""The memory that a size takes: per tensor, for the engine's pool, and against what the machine has."""

import pytest

from native_bench.contract import machine_bytes
from native_bench.cpu.draws import Draw, Draws
from native_bench.cpu.sitting import pool_sets
from native_bench.room import bytes_text, need_of, needs_lines, require_room, room_bytes
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.problem import Case, Problem
from tests.unit.native_bench.conftest import REFERENCE_PY

MIB = 1 << 20


def case(n: int) -> Case:
    return Case("one", {"n": n})


def test_it_counts_each_tensor_and_all_sets(problem: Problem) -> None:
    need = need_of(problem, case(MIB), 2)
    assert dict(need.tensor_bytes) == {"x": 4 * MIB, "y": 4 * MIB, "z": 4 * MIB}
    assert need.sets == pool_sets(problem, case(MIB)) == 3
    pool = (3 + 2) * (8 + 16) * MIB
    regions = 3 * (8 + 2 * 4) * MIB
    assert need.total_bytes == pool + regions + 32 * 3 * MIB


def test_it_counts_no_less_than_the_engine_lays_out(problem: Problem) -> None:
    need = need_of(problem, case(5000), 2)
    draws = Draws(problem, REFERENCE_PY, [Draw({"n": 5000}, "uniform", 1, False)] * (need.sets + 2))
    try:
        assert draws.memory.size <= need.total_bytes
    finally:
        draws.close()


def test_it_names_the_size_that_does_not_fit(problem: Problem) -> None:
    needs = [need_of(problem, case(n), 2) for n in (1, 1000, 100000)]
    require_room(needs, needs[-1].total_bytes)
    with pytest.raises(Rejected, match=r"n=100000 needs .* MiB of memory, and .* may be taken") as refused:
        require_room(needs, needs[1].total_bytes)
    assert refused.value.code == "sweep:memory"


def test_it_takes_a_limit_below_what_is_free() -> None:
    assert room_bytes(MIB) == MIB
    assert 0 < room_bytes(None) <= machine_bytes()
    with pytest.raises(Rejected, match="are free"):
        room_bytes(machine_bytes() + 1)


def test_it_tells_the_memory_of_each_size(problem: Problem) -> None:
    (line,) = needs_lines([need_of(problem, case(1024), 2)], 64 * MIB)
    assert line.startswith("n=1024: x 4 KiB, y 4 KiB, z 4 KiB; with 65 sets of inputs ")
    assert "of 64 MiB" in line


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "0.977 KiB"), (1536, "1.5 KiB"), (3 * MIB, "3 MiB"), (5 << 30, "5 GiB")],
)
def test_it_writes_sizes(size: int, text: str) -> None:
    assert bytes_text(size) == text
