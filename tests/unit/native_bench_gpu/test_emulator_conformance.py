"""Every pair of the whitelist does what the PTX ISA says, and there is no pair without a case."""

import pytest

from native_bench.gpu.emulator.table import ENTRIES, WHITELIST
from tests.unit.native_bench_gpu.conformance_arithmetic import arithmetic_cases
from tests.unit.native_bench_gpu.conformance_case import Case
from tests.unit.native_bench_gpu.conformance_memory import memory_cases
from tests.unit.native_bench_gpu.conformance_warps import warp_cases
from tests.unit.native_bench_gpu.shown import Shown

ARITHMETIC = arithmetic_cases()
OTHERS = [*memory_cases(), *warp_cases()]


def _by_pair() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in ARITHMETIC:
        found.setdefault(" ".join(case.pair), []).append(case)
    return found


BY_PAIR = _by_pair()


@pytest.mark.parametrize("pair", BY_PAIR)
def test_it_computes(pair: str) -> None:
    for case in BY_PAIR[pair]:
        case.check()


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_it_executes(case: Shown) -> None:
    case.check()


def test_every_pair_of_the_whitelist_has_a_case() -> None:
    shown = {case.pair for case in ARITHMETIC} | {pair for case in OTHERS for pair in case.pairs}
    assert set(WHITELIST) - shown == set()
    assert shown - set(WHITELIST) == set()
    assert len(ARITHMETIC) + len(OTHERS) >= len(WHITELIST)


def test_no_pair_stands_twice_in_the_table() -> None:
    assert len(WHITELIST) == len(set(WHITELIST))
    assert all(entry.types for entry in ENTRIES)
