"""The least time a machine allows: known values, properties over any machine, and None where it can't be told."""

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from submissions.evaluation.roofline import (
    Level,
    Limits,
    SolTime,
    floor,
    headroom,
    sol_fraction,
    sol_score,
    sol_time_ns,
)
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.schema import check_schema

KIB, MIB = 1 << 10, 1 << 20

# 200, 100, 50 and 10 bytes per ns, 100 fp32 operations per ns.
LIMITS = Limits(
    (
        Level("L1", 32 * KIB, 16 * KIB, {"read": 200e9, "copy": 150e9}),
        Level("L2", 512 * KIB, 256 * KIB, {"read": 90e9, "triad": 100e9}),
        Level("L3", 32 * MIB, 8 * MIB, {"read": 50e9}),
        Level("DRAM", None, 96 * MIB, {"read": 8e9, "copy": 10e9}),
    ),
    {"fp32_fma": 100e9},
)


def sol(bytes_min: int, flops: int, working_set: int, mode: str = "hot", limits: Limits = LIMITS) -> SolTime:
    found = sol_time_ns(bytes_min, flops, "fp32_fma", working_set, mode, limits)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("working_set", "level", "ns", "least_ns"),
    [
        (0, "L1", 5, 5),
        (1, "L1", 5, 5),
        (32 * KIB, "L1", 5, 5),
        # Half of it may still lie in L1; and a set of this size was not measured, only one that lies there.
        (64 * KIB, "L2", 7.5, 5),
        (512 * KIB, "L2", 5 / 16 + 10 * 15 / 16, 5 / 16 + 10 * 15 / 16),
        (MIB, "L3", 5 / 32 + 10 * 15 / 32 + 20 / 2, 10),
        (8 * MIB, "L3", 5 / 256 + 10 * 15 / 256 + 20 * 15 / 16, 5 / 256 + 10 * 15 / 256 + 20 * 15 / 16),
        (64 * MIB, "DRAM", 5 / 2048 + 10 * 15 / 2048 + 20 * 63 / 128 + 100 / 2, 20),
        (1 << 40, "DRAM", 100, 100),
    ],
)
def test_it_takes_the_smallest_level_that_holds_the_set_and_what_the_nearer_ones_may_hold_of_it(
    working_set: int, level: str, ns: float, least_ns: float
) -> None:
    found = sol(1000, 0, working_set)
    assert (found.level, found.bound) == (level, "memory")
    assert found.ns == pytest.approx(ns, rel=2e-4)
    assert found.least_ns == pytest.approx(least_ns, rel=2e-4)


def test_it_takes_memory_for_a_cold_set_of_any_size_though_what_is_written_may_not_get_there() -> None:
    found = sol(1000, 0, 1, "cold")
    assert (found.level, found.ns, found.least_ns) == ("DRAM", pytest.approx(100), pytest.approx(5))


def test_it_is_bound_by_what_takes_longer() -> None:
    assert sol(1000, 499, 1).bound == "memory"
    assert sol(1000, 500, 1) == SolTime(5.0, "memory", "L1", 5.0)
    assert sol(1000, 501, 1) == SolTime(pytest.approx(5.01), "compute", "L1", pytest.approx(5.01))


def test_it_lets_no_level_be_slower_than_a_farther_one() -> None:
    slow = Level("L1", 32 * KIB, 16 * KIB, {"read": 1e9})
    disturbed = Limits((slow, *LIMITS.levels[1:]), LIMITS.operations_per_second)
    assert sol(1000, 0, 1, limits=disturbed).ns == pytest.approx(10)


def test_of_two_looks_the_greater_rate_of_each_kind_counts() -> None:
    other = Limits(
        (Level("L1", 1, 1, {"read": 300e9, "copy": 1e9, "write": 2e9}),), {"fp32_fma": 1e9, "i8_dot": 3e9}
    )
    raised = LIMITS.greatest(other)
    near = Level("L1", 32 * KIB, 16 * KIB, {"read": 300e9, "copy": 150e9, "write": 2e9})
    assert raised == Limits((near, *LIMITS.levels[1:]), {"fp32_fma": 100e9, "i8_dot": 3e9})


def test_it_needs_no_unit_where_nothing_is_computed() -> None:
    found = sol_time_ns(1000, 0, "quantum", 1, "hot", LIMITS)
    assert found is not None
    assert found.bound == "memory"


NO_MEMORY = Limits(LIMITS.levels[:3], LIMITS.operations_per_second)
NO_RATES = Limits((Level("DRAM", None, MIB, {}),), LIMITS.operations_per_second)


@pytest.mark.parametrize(
    ("unit", "mode", "working_set", "limits"),
    [
        ("quantum", "hot", 1, LIMITS),
        ("", "hot", 1, LIMITS),
        ("fp32_fma", "tepid", 1, LIMITS),
        ("fp32_fma", "hot", 1, None),
        ("fp32_fma", "hot", 1, Limits((), {"fp32_fma": 1e9})),
        ("fp32_fma", "hot", 33 * MIB, NO_MEMORY),
        ("fp32_fma", "cold", 1, NO_MEMORY),
        ("fp32_fma", "hot", 1, NO_RATES),
    ],
)
def test_it_has_no_answer_where_something_is_unknown(
    unit: str, mode: str, working_set: int, limits: Limits | None
) -> None:
    assert sol_time_ns(1000, 1000, unit, working_set, mode, limits) is None


def test_it_has_no_answer_where_nothing_is_done() -> None:
    assert sol_time_ns(0, 0, "fp32_fma", 1, "hot", LIMITS) is None


def test_what_follows_from_no_answer_is_none() -> None:
    assert sol_fraction(10.0, None) is None
    assert headroom(10.0, None) is None
    assert sol_score(10.0, 20.0, None) is None
    assert floor(10.0, None) is None


@pytest.mark.parametrize("odd", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_time_has_no_figure(odd: float) -> None:
    assert sol_fraction(odd, 5.0) is None
    assert headroom(odd, 5.0) is None
    assert floor(odd, SolTime(5.0, "memory", "L1", 5.0)) is None
    for times in ((odd, 20.0, 5.0), (10.0, odd, 5.0), (10.0, 20.0, odd)):
        assert sol_score(*times) is None


def test_it_computes_known_figures() -> None:
    assert sol_fraction(20.0, 5.0) == 0.25
    assert headroom(20.0, 5.0) == 4.0
    # 1 / (1 + (20 - 5) / (35 - 5))
    assert sol_score(20.0, 35.0, 5.0) == pytest.approx(2 / 3)
    assert sol_score(35.0, 35.0, 5.0) == 0.5
    assert sol_score(5.0, 35.0, 5.0) == 1.0
    assert sol_score(4.0, 35.0, 5.0) == 1.0


@pytest.mark.parametrize("base_ns", [4.0, 5.0])
def test_it_scores_nothing_without_a_gap(base_ns: float) -> None:
    assert sol_score(20.0, base_ns, 5.0) is None


@pytest.mark.parametrize(
    ("t_ns", "least_ns", "answer"),
    [
        (100.0, 100.0, None),
        (99.9, 100.0, "flagged"),
        (90.0, 100.0, "flagged"),
        (89.9, 100.0, "violated"),
        # A set between two levels: under the roof, but not under what nothing can beat.
        (50.0, 40.0, "flagged"),
        (36.0, 40.0, "flagged"),
        (35.9, 40.0, "violated"),
    ],
)
def test_it_holds_a_time_against_the_floor(t_ns: float, least_ns: float, answer: str | None) -> None:
    assert floor(t_ns, SolTime(100.0, "memory", "L3", least_ns)) == answer


RATES = st.floats(1e6, 1e13)
KINDS = st.dictionaries(st.sampled_from(["read", "write", "copy", "triad"]), RATES, min_size=1)


@st.composite
def machines(draw: st.DrawFn) -> Limits:
    """Any machine, its measurings as disturbed as can be."""
    capacities = draw(st.lists(st.integers(1, 1 << 30), max_size=4, unique=True).map(sorted))
    levels = [
        Level(f"L{number}", capacity, draw(st.integers(1, capacity)), draw(KINDS))
        for number, capacity in enumerate(capacities, 1)
    ]
    memory = Level("DRAM", None, draw(st.integers(1, 1 << 31)), draw(KINDS))
    return Limits((*levels, memory), {"fp32_fma": draw(RATES)})


BYTES = st.integers(1, 1 << 40)
FLOPS = st.integers(0, 1 << 50)
SETS = st.integers(1, 1 << 40)
TIMES = st.floats(1e-3, 1e15)
# Sums of floats in another order differ by their rounding.
MORE = 1 + 1e-9

# What a busy machine takes for it says nothing about a property.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(machines(), BYTES, FLOPS, SETS)
def test_any_machine_has_a_roof_and_a_floor_no_higher(
    limits: Limits, bytes_min: int, flops: int, working_set: int
) -> None:
    hot = sol(bytes_min, flops, working_set, "hot", limits)
    cold = sol(bytes_min, flops, working_set, "cold", limits)
    assert 0 < hot.least_ns <= hot.ns <= cold.ns * MORE
    assert cold.least_ns <= hot.least_ns * MORE
    assert math.isfinite(cold.ns)
    fastest = max(rate for level in limits.levels for rate in level.bytes_per_second.values())
    assert hot.least_ns >= bytes_min / fastest * 1e9 / MORE
    assert hot.ns >= flops / limits.operations_per_second["fp32_fma"] * 1e9 / MORE


@unhurried
@given(machines(), BYTES, FLOPS, SETS, st.integers(1, 1000))
def test_more_work_or_a_larger_set_never_takes_less(
    limits: Limits, bytes_min: int, flops: int, working_set: int, factor: int
) -> None:
    once = sol(bytes_min, flops, working_set, "hot", limits)
    for more in (
        sol(bytes_min * factor, flops, working_set, "hot", limits),
        sol(bytes_min, flops * factor, working_set, "hot", limits),
        sol(bytes_min, flops, working_set * factor, "hot", limits),
    ):
        assert more.ns * MORE >= once.ns


@unhurried
@given(machines(), machines(), BYTES, FLOPS, SETS)
def test_a_second_look_only_raises_the_roof(
    first: Limits, second: Limits, bytes_min: int, flops: int, working_set: int
) -> None:
    raised = first.greatest(second)
    assert [level.name for level in raised.levels] == [level.name for level in first.levels]
    before = sol(bytes_min, flops, working_set, "hot", first)
    after = sol(bytes_min, flops, working_set, "hot", raised)
    assert after.ns <= before.ns * MORE
    assert after.least_ns <= before.least_ns * MORE
    assert first.greatest(first) == first


@unhurried
@given(TIMES, TIMES, TIMES)
def test_a_score_lies_between_nothing_and_one_and_falls_with_time(a: float, b: float, t_sol: float) -> None:
    base = max(a, b)
    assume(base > t_sol)
    faster, slower = sol_score(min(a, b), base, t_sol), sol_score(base * 2, base, t_sol)
    assert faster is not None
    assert slower is not None
    assert 0 <= slower < 0.5 <= faster <= 1


@unhurried
@given(TIMES, TIMES)
def test_fraction_and_headroom_are_each_other_turned_over(t_ns: float, t_sol_ns: float) -> None:
    fraction, room = sol_fraction(t_ns, t_sol_ns), headroom(t_ns, t_sol_ns)
    assert fraction is not None
    assert room is not None
    assert fraction * room == pytest.approx(1)
    assert (fraction > 1) == (t_ns < t_sol_ns)


@unhurried
@given(machines())
def test_it_reads_what_it_wrote(limits: Limits) -> None:
    assert Limits.from_json(json.loads(json.dumps(limits.as_json()))) == limits


BROKEN: list[Any] = [
    {},
    {"levels": []},
    {"levels": 3, "operations_per_second": {}},
    {"levels": [], "operations_per_second": []},
    {"levels": [{"name": "L1"}], "operations_per_second": {}},
    {"levels": [], "operations_per_second": {"fp32_fma": "fast"}},
    {"levels": [], "operations_per_second": {"fp32_fma": 0}},
    {"levels": [], "operations_per_second": {"fp32_fma": math.nan}},
    {"levels": [], "operations_per_second": {"fp32_fma": None}},
    [],
    None,
]


@pytest.mark.parametrize("document", BROKEN)
def test_it_refuses_what_are_no_limits(document: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Limits.from_json(document)


FIGURES: dict[str, Any] = {"t_sol_ns": 5.0, "bound": "memory", "sol_level": "L2", "sol_floor": "flagged"}


def test_a_run_record_holds_its_answers(record: dict[str, Any]) -> None:
    record["cases"][0] |= FIGURES
    record["cases"][1] |= dict.fromkeys(FIGURES)
    check_schema(record, "run", "x")


@pytest.mark.parametrize(("field", "value"), [("bound", "heat"), ("sol_level", "l 2"), ("sol_floor", "low")])
def test_a_run_record_holds_no_other_answers(record: dict[str, Any], field: str, value: str) -> None:
    record["cases"][0][field] = value
    with pytest.raises(Rejected):
        check_schema(record, "run", "x")


@pytest.mark.parametrize("field", ["bound", "sol_level", "sol_floor"])
def test_what_was_not_measured_has_no_limit(record: dict[str, Any], field: str) -> None:
    emulated = copy.deepcopy(record) | {"evidence": "emulated", "cases": [{"id": "small"}]}
    check_schema(emulated, "run", "x")
    emulated["cases"][0][field] = FIGURES[field]
    with pytest.raises(Rejected):
        check_schema(emulated, "run", "x")
