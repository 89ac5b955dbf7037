"""Plots as SVG: well-formed, labelled, with everything in its place and nothing from elsewhere."""

from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from native_bench.figures import Figures
from native_bench.log_scale import number_text
from native_bench.plot import Axis, Bar, Point, Series, interval_chart, line_plot
from native_bench.sizes import Span
from native_bench.sweep_plot import LIMIT, WORK, sweep_svg
from submissions.evaluation.statistics import Interval
from submissions.kernel_package.problem import Problem

SVG = "{http://www.w3.org/2000/svg}"


def interval(value: float) -> Interval:
    return Interval(value, value * 0.9, value * 1.1)


def parsed(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in parsed(drawing).iter(f"{SVG}text")]


def marks(drawing: str) -> Iterator[tuple[float, float]]:
    for dot in parsed(drawing).iter(f"{SVG}circle"):
        yield float(dot.attrib["cx"]), float(dot.attrib["cy"])


def plot(*series: Series) -> str:
    return line_plot("Time <by> size", Axis("Length & width"), Axis("time", "ns"), series)


@pytest.fixture
def drawing() -> str:
    points = [Point(10.0**power, interval(10.0 ** (power + 2))) for power in (1, 2, 3, 4)]
    return plot(Series("a<b", points), Series("limit", points, is_dashed=True))


def test_it_names_title_axes_units_and_lines(drawing: str) -> None:
    shown = texts(drawing)
    assert {"Time <by> size", "Length & width", "time", "a<b", "limit"} <= {*shown}
    assert {"10", "100", "1k", "10k"} <= {*shown}
    assert {"1 µs", "10 µs", "100 µs", "1 ms"} <= {*shown}


def test_it_spaces_powers_evenly_and_draws_upwards(drawing: str) -> None:
    places = list(marks(drawing))
    steps = [after[0] - before[0] for before, after in pairwise(places)]
    assert len(places) == 4
    assert max(steps) - min(steps) < 0.5
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_it_follows_the_readers_theme_and_fetches_nothing(drawing: str) -> None:
    assert "prefers-color-scheme: dark" in drawing
    assert not any(word in drawing for word in ("url(", "href", "<script", "@import"))


def test_a_dashed_line_has_no_marks() -> None:
    drawing = plot(Series("limit", [Point(1.0, interval(1.0))], is_dashed=True))
    assert list(marks(drawing)) == []
    assert 'class="line s0 dashed"' in drawing


def test_it_tells_each_point_with_its_interval(drawing: str) -> None:
    told = [title.text for title in parsed(drawing).iter(f"{SVG}title")]
    assert "a<b, 10: 1 µs (900 ns to 1.1 µs)" in told


@pytest.mark.parametrize("values", [(1.0,), (1.0, 1.0001), (1.0, 1.3), (3.0, 40.0), (1.0, 1e3), (1e-3, 1e12)])
def test_it_has_some_ticks_whatever_the_range(values: tuple[float, ...]) -> None:
    drawing = plot(Series("a", [Point(value, interval(value)) for value in values]))
    labels = [element for element in parsed(drawing).iter(f"{SVG}text") if element.attrib["class"] == "quiet"]
    for anchor in ("middle", "end"):
        ticks = [label.text for label in labels if label.attrib["text-anchor"] == anchor and "x" in label.attrib]
        assert 2 <= len(ticks) <= 12
        assert len({*ticks}) == len(ticks)


@pytest.mark.parametrize("values", [(), (0.0,), (float("nan"),)])
def test_it_refuses_to_plot_nothing(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="nothing to plot"):
        plot(Series("a", [Point(value, interval(value)) for value in values]))
    with pytest.raises(ValueError, match="nothing to plot"):
        interval_chart("t", Axis("x"), [])


def test_it_charts_intervals_around_one() -> None:
    bars = [Bar("faster & better", interval(2.0)), Bar("slower", interval(0.5)), Bar("level", interval(1.0))]
    drawing = interval_chart("Speed-up", Axis("times as fast", "×"), bars)
    assert {"Speed-up", "times as fast", "faster & better", "slower", "level", "1×"} <= {*texts(drawing)}
    (fast, _), (slow, _), (level, _) = marks(drawing)
    assert slow < level < fast
    classes = [
        line.attrib["class"] for line in parsed(drawing).iter(f"{SVG}line") if "stroke-width" in line.attrib
    ]
    assert classes == ["s0", "s1", "s5"]


def test_a_chart_is_as_wide_as_its_labels_need() -> None:
    wide = interval_chart("t", Axis("x"), [Bar("w" * 60, interval(1.0))])
    narrow = interval_chart("t", Axis("x"), [Bar("w", interval(1.0))])
    assert float(parsed(wide).attrib["width"]) - float(parsed(narrow).attrib["width"]) > 59 * 7


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.0, "ns", "1 ns"),
        (999.9, "ns", "1 µs"),
        (2.5e6, "ns", "2.5 ms"),
        (3e9, "ns", "3 s"),
        (0.5, "×", "0.5×"),
        (1.005, "×", "1.005×"),
        (4096, "", "4.096k"),
        (2e6, "", "2M"),
        (5e9, "", "5G"),
    ],
)
def test_it_writes_numbers_short(value: float, unit: str, text: str) -> None:
    assert number_text(value, unit) == text


def row(n: int, t_ns: float | None, baseline: str = "x/a/b/c/reference_impl") -> Figures:
    time = None if t_ns is None else interval(t_ns)
    ended = ("ok", "run:ok", "")
    limit = None if t_ns is None else t_ns / 2
    return Figures("x/a/b/c/tried", baseline, f"n{n}", {"n": n}, *ended, time, time, time, 1.0, 1.0, limit, 0.5)


def test_it_plots_a_sweep(problem: Problem) -> None:
    drawing = sweep_svg(
        [row(10, 100.0), row(100, None), row(1000, 9000.0)], problem, Span(("n",), (10, 100, 1000))
    )
    assert {"tried", "reference_impl", LIMIT, "Length (n)", "Vector/scale/fp32: time by size"} <= {*texts(drawing)}
    assert len(list(marks(drawing))) == 4


def test_it_plots_a_baseline_alone_once(problem: Problem) -> None:
    rows = [row(10, 100.0, "x/a/b/c/tried"), row(20, 150.0, "x/a/b/c/tried")]
    drawing = sweep_svg(rows, problem, Span(("n",), (10, 20)))
    assert texts(drawing).count("tried") == 1


def test_it_plots_sizes_without_a_common_extent_by_their_operations(problem: Problem) -> None:
    drawing = sweep_svg([row(10, 100.0), row(1000, 9000.0)], problem, None)
    assert WORK in texts(drawing)
    described = [element.text or "" for element in parsed(drawing).iter(f"{SVG}title")]
    places = [text.partition(":")[0] for text in described if text.startswith("tried")]
    assert places == ["tried, 20", "tried, 2000"]
