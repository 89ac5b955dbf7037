"""Intervals over process medians: known values, and no input without an answer."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submissions.evaluation.statistics import (
    FLOOR_LOG,
    Interval,
    combine_cases,
    log_interval,
    ratio_interval,
    t_quantile,
    time_interval,
)


def test_it_knows_students_quantiles() -> None:
    assert t_quantile(1) == pytest.approx(12.7062)
    assert t_quantile(4) == pytest.approx(2.7764)
    assert t_quantile(30) == pytest.approx(2.0423)
    assert t_quantile(31) == t_quantile(1000) == 1.96
    assert t_quantile(0) == t_quantile(1)


def test_it_computes_a_known_interval() -> None:
    # Mean 0.3, s = 0.01 * sqrt(2.5), n = 5: half width 2.7764 * s / sqrt(5).
    interval = log_interval([0.28, 0.29, 0.30, 0.31, 0.32])
    half = 2.7764 * 0.01 * math.sqrt(2.5) / math.sqrt(5)
    assert interval.value == pytest.approx(0.30)
    assert (interval.lo, interval.hi) == (pytest.approx(0.30 - half), pytest.approx(0.30 + half))


def test_it_separates_nothing_by_one_process() -> None:
    assert log_interval([0.04]).lo < 0 < log_interval([0.04]).hi


def test_it_never_claims_more_than_the_floor() -> None:
    interval = log_interval([0.1, 0.1, 0.1])
    assert interval.hi - interval.lo == pytest.approx(2 * FLOOR_LOG)


def test_it_needs_a_process() -> None:
    with pytest.raises(ValueError, match="at least one"):
        log_interval([])


VALUES = st.lists(st.floats(-5, 5), min_size=1, max_size=12)


@given(VALUES)
def test_it_always_holds_its_point(values: list[float]) -> None:
    for interval in (log_interval(values), ratio_interval(values), time_interval([math.exp(v) for v in values])):
        assert interval.lo <= interval.value <= interval.hi
        assert all(math.isfinite(part) for part in (interval.lo, interval.value, interval.hi))


@given(VALUES)
def test_it_is_the_same_seen_from_the_other_side(values: list[float]) -> None:
    forth, back = ratio_interval(values), ratio_interval([-value for value in values])
    assert forth.value * back.value == pytest.approx(1)
    assert forth.lo * back.hi == pytest.approx(1)


def test_it_weighs_cases_in_logs() -> None:
    assert combine_cases([(1, [0.1, 0.2]), (3, [0.5, 0.6])]) == [pytest.approx(0.4), pytest.approx(0.5)]


@pytest.mark.parametrize("cases", [[], [(1.0, [0.1]), (1.0, [0.1, 0.2])]])
def test_it_combines_only_whole_tables(cases: list[tuple[float, list[float]]]) -> None:
    with pytest.raises(ValueError, match="case"):
        combine_cases(cases)


def test_it_compares_intervals() -> None:
    low, high = Interval(1.0, 0.9, 1.1), Interval(1.2, 1.1, 1.3)
    assert low.overlaps(high)
    assert high.overlaps(low)
    assert not low.overlaps(Interval(2.0, 1.9, 2.1))
    assert high.lies_above(1.0)
    assert not high.lies_above(1.1)
    assert Interval.from_json(low.as_json()) == low
