"""Ranks, ties and obstacles, as the design words them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.ranking import Entry, Yardstick, obstacle, rank, records, yardstick_of
from submissions.evaluation.statistics import Interval

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
YARDSTICK = Yardstick(1, "cpu-a")


def entry(name: str, value: float, half: float = 0.001, day: int = 0, **changes: object) -> Entry:
    whole = Entry(
        kernel_id=name,
        status="measured",
        evidence="measured",
        isolation="full",
        problem_version=1,
        device="cpu-a",
        speedup=Interval(value, value * (1 - half), value * (1 + half)),
        accepted_at=START + timedelta(days=day),
    )
    return replace(whole, **changes)


def ranks(*entries: Entry) -> list[tuple[str, int, bool]]:
    return [(place.kernel_id, place.rank, place.is_tied) for place in rank(entries, YARDSTICK)]


def test_it_ranks_by_speedup():
    assert ranks(entry("slow", 1.0), entry("fast", 2.0)) == [("fast", 1, False), ("slow", 2, False)]


def test_it_gives_overlapping_intervals_one_rank_and_counts_them_all_for_the_next():
    found = ranks(entry("a", 2.0, 0.02), entry("b", 1.97, 0.02), entry("c", 1.5))
    assert found == [("a", 1, True), ("b", 1, True), ("c", 3, False)]


def test_it_ties_what_differs_by_less_than_half_a_percent_even_with_narrow_intervals():
    assert ranks(entry("a", 1.004, 1e-5), entry("b", 1.0, 1e-5)) == [("a", 1, True), ("b", 1, True)]


def test_it_separates_what_differs_by_half_a_percent_or_more():
    assert [place[1] for place in ranks(entry("a", 1.0051, 1e-5), entry("b", 1.0, 1e-5))] == [1, 2]


def test_it_compares_with_the_first_of_the_group_only():
    # b overlaps a, c overlaps b but not a: c opens a group of its own.
    found = ranks(entry("a", 2.0, 0.01), entry("b", 1.97, 0.01), entry("c", 1.94, 0.01))
    assert found == [("a", 1, True), ("b", 1, True), ("c", 3, False)]


def test_it_puts_the_earlier_acceptance_first_within_a_group():
    found = ranks(entry("later", 2.0, 0.02, day=2), entry("earlier", 1.98, 0.02, day=1))
    assert found == [("earlier", 1, True), ("later", 1, True)]


def test_it_lets_the_fastest_head_the_group_even_when_it_came_last():
    # Were the earlier, slower one the head, the third would be in reach of it.
    found = ranks(
        entry("head", 2.0, 0.01, day=9), entry("early", 1.975, 0.01, day=1), entry("third", 1.945, 0.01, day=2)
    )
    assert found == [("early", 1, True), ("head", 1, True), ("third", 3, False)]


def test_it_shares_a_rank_between_one_source_under_two_names():
    assert [place[1] for place in ranks(entry("x/one", 1.31, 0.01), entry("x/two", 1.30, 0.01))] == [1, 1]


def test_it_breaks_a_draw_by_name():
    assert [place[0] for place in ranks(entry("b", 1.0), entry("a", 1.0))] == ["a", "b"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"status": "unmeasured", "speedup": None}, "rank:unmeasured"),
        ({"speedup": None}, "rank:unmeasured"),
        ({"accepted_at": None}, "rank:unmeasured"),
        ({"status": "withdrawn"}, "rank:withdrawn"),
        ({"evidence": "emulated"}, "rank:evidence"),
        ({"evidence": "static"}, "rank:evidence"),
        ({"isolation": "stub"}, "rank:isolation"),
        ({"problem_version": 2}, "rank:problem-version"),
        ({"device": "cpu-b"}, "rank:device"),
    ],
)
def test_it_says_why_a_kernel_has_no_rank(changes, code):
    odd = entry("odd", 9.0, **changes)
    hurdle = obstacle(odd, YARDSTICK)
    assert hurdle is not None
    assert hurdle.code == code
    assert hurdle.text
    assert ranks(odd, entry("a", 1.0)) == [("a", 1, False)]


def test_it_ranks_nobody_until_the_baseline_is_measured():
    assert yardstick_of(None, 1) is None
    assert yardstick_of(entry("base", 1.0, status="unmeasured", speedup=None), 1) is None
    hurdle = obstacle(entry("a", 2.0), None)
    assert hurdle is not None
    assert hurdle.code == "rank:no-baseline"
    assert rank([entry("a", 2.0)], None) == ()


def test_it_takes_the_device_of_the_measured_baseline_and_the_version_of_the_problem():
    assert yardstick_of(entry("base", 1.0, device="cpu-b"), 3) == Yardstick(3, "cpu-b")


def test_it_ranks_an_empty_board():
    assert rank([], YARDSTICK) == ()


def test_it_marks_as_records_what_beat_all_before_and_is_not_tied_with_it():
    history = [
        entry("base", 1.0),
        entry("first", 1.5),
        entry("slower", 1.4),
        entry("tied", 1.5006),
        entry("elsewhere", 9.0, device="cpu-b"),
        entry("best", 1.8),
    ]
    assert records(history, YARDSTICK) == {0, 1, 5}
    assert records(history, None) == frozenset()


@given(
    st.lists(
        st.tuples(st.floats(0.1, 10), st.floats(0.0005, 0.2), st.integers(0, 5)),
        max_size=12,
    )
)
def test_it_ranks_the_same_whatever_the_order_it_is_given(figures):
    entries = [entry(f"k{at:02}", value, half, day) for at, (value, half, day) in enumerate(figures)]
    places = rank(entries, YARDSTICK)
    assert places == rank(entries[::-1], YARDSTICK)
    assert sorted(place.kernel_id for place in places) == sorted(each.kernel_id for each in entries)
    for at, place in enumerate(places):
        assert place.rank == 1 + sum(other.rank < place.rank for other in places)
        assert place.is_tied == (sum(other.rank == place.rank for other in places) > 1)
        assert at == 0 or places[at - 1].rank <= place.rank
