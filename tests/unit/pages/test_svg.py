from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.svg import interval_axis, interval_bar, scale_over
from leaderboard.svg_history import HistoryPoint, history_plot, history_points
from submissions.evaluation.statistics import Interval
from tests.unit.pages import wellformed

DAY = datetime(2026, 3, 1, tzinfo=UTC)
FAST, SLOW, LEVEL = Interval(1.31, 1.29, 1.33), Interval(0.9, 0.88, 0.92), Interval(1.0, 0.99, 1.01)


def test_it_draws_nothing_where_nothing_is_measured():
    assert scale_over([None]) is None
    assert history_plot((), "Speed-up") == ""


@pytest.mark.parametrize(("interval", "kind"), [(FAST, "faster"), (SLOW, "slower"), (LEVEL, "level")])
def test_it_tells_faster_slower_and_level_apart_and_says_the_figures(interval, kind):
    drawing = interval_bar(interval, scale_over([FAST, SLOW, LEVEL]), "mine")

    assert f'class="bar bar-{kind}"' in drawing
    assert 'aria-label="mine ' in drawing
    wellformed.check(drawing)


def test_it_escapes_labels():
    drawing = interval_bar(FAST, scale_over([FAST]), '"><script>')

    assert "<script>" not in drawing


def test_it_names_the_baseline_on_every_axis():
    for intervals in ([FAST], [Interval(20, 19, 21)], [SLOW], [Interval(900, 890, 910), SLOW]):
        assert ">1×<" in interval_axis(scale_over(intervals))


@given(st.lists(st.tuples(st.floats(0.01, 5000), st.floats(0, 0.4)), min_size=1, max_size=8))
def test_it_keeps_every_place_inside_the_drawing_and_in_order(rows):
    intervals = [Interval(value, value * (1 - half), value * (1 + half)) for value, half in rows]
    scale = scale_over(intervals)

    assert 2 <= len(scale.ticks) <= 7 or scale.high / scale.low < 1.3
    for each in intervals:
        places = [scale.percent(at) for at in (each.lo, each.value, each.hi)]
        assert places == sorted(places)
        assert all(0 <= place <= 100 for place in places)


def test_it_draws_a_history_as_one_step_for_each_accepted_measuring():
    points = [
        HistoryPoint(DAY + timedelta(days=day), Interval(value, value * 0.98, value * 1.02))
        for day, value in enumerate([1.0, 1.4, 2.2])
    ]
    drawing = history_plot(points, "Speed-up")

    assert drawing.count("step-dot") == 3
    assert "3 measured, now 2.20×" in drawing
    assert ">2026-03-01<" in drawing
    assert ">2026-03-03<" in drawing
    wellformed.check(drawing)


def test_it_draws_a_history_of_one_moment():
    drawing = history_plot([HistoryPoint(DAY, FAST), HistoryPoint(DAY, FAST)], "Speed-up")

    assert drawing.count("step-dot") == 2
    assert drawing.count("2026-03-01<") == 1


def test_it_orders_history_and_leaves_out_what_has_no_figure():
    class Point:
        def __init__(self, days: int, speedup: Interval | None) -> None:
            self.accepted_at, self.speedup = DAY + timedelta(days=days), speedup

    points = history_points([Point(2, FAST), Point(1, None), Point(0, LEVEL)])

    assert [point.speedup for point in points] == [LEVEL, FAST]
