"""When a sitting goes on, and when it gives no figure."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native_bench.cpu.stopping import MOST_PROCESSES, is_enough, why_useless
from native_bench.surroundings import CpuTimes, Surroundings, boost, involuntary_switches

STEADY = [0.100, 0.101, 0.099, 0.1, 0.1]
WIDE = [0.1, 0.4, -0.2, 0.3, 0.0]
SCATTERED = [0.0, 1.0, -1.0, 0.5, 0.2]


def test_it_never_stops_before_the_least() -> None:
    assert not is_enough(STEADY[:4], 5, None)
    assert is_enough(STEADY, 5, None)


def test_it_goes_on_for_who_seems_to_be_first() -> None:
    assert not is_enough(STEADY, 5, 0.09)
    assert is_enough(STEADY, 5, 0.11)
    assert is_enough([*STEADY, *STEADY[:4]], 5, 0.09)


def test_it_goes_on_while_the_interval_is_wide() -> None:
    assert not is_enough(WIDE, 5, None)


def test_it_never_extends_a_cheap_mode() -> None:
    assert is_enough(WIDE[:3], 3, -10.0)


@given(st.lists(st.floats(-10, 10), min_size=MOST_PROCESSES, max_size=20), st.floats(-5, 5))
def test_it_ends_at_the_most(values: list[float], log_best: float) -> None:
    assert is_enough(values, 5, log_best)


@pytest.mark.parametrize(
    ("values", "is_contended", "is_unsteady", "reason"),
    [
        (STEADY, False, False, None),
        (STEADY, True, False, None),
        (STEADY, False, True, "clock"),
        (SCATTERED, True, False, "contended"),
        (SCATTERED, False, False, "ambiguous"),
        (WIDE[:1], False, False, None),
    ],
)
def test_it_says_why_there_is_no_figure(
    values: list[float], is_contended: bool, is_unsteady: bool, reason: str | None
) -> None:
    assert why_useless(values, is_contended, is_unsteady) == reason


def test_it_reads_this_machine() -> None:
    times = CpuTimes.of([0])
    assert times.total >= times.busy + times.stolen > 0
    assert CpuTimes.of([]) == CpuTimes(0, 0, 0)
    assert involuntary_switches(2**22 + 1) == 0
    assert boost() in (True, False, None)


def test_its_record_names_what_was_seen() -> None:
    seen = Surroundings((0,))
    seen.tick_rates_mhz += [2000.0, 2003.0, 2001.0]
    seen.self_test.append(0.0123456)
    document = seen.as_json()
    assert document["tsc_mhz"] == 2001.0
    assert document["clock_drift"] == pytest.approx(0.0015)
    assert document["self_test_log_ratio"] == [0.01235]
    assert 0 <= document["steal_share"] <= 1
    assert math.isfinite(document["load_average"])
