"""Plots as self-contained SVG text, light or dark as the reader has it: log-log lines, a chart of intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from native_bench.log_scale import LogScale, number_text, scale_over
from submissions.evaluation.statistics import Interval

_WIDTH, _HEIGHT = 760, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 736, 64, 396
_CHART_WIDTH, _ROW_HEIGHT, _LETTER = 400, 22, 7.4
_COLOURS = 6

_STYLE = """
svg { background: #fafaf7; font: 13px ui-sans-serif, system-ui, sans-serif; font-variant-numeric: tabular-nums; }
text { fill: #16201c; } .title { font-size: 17px; font-weight: 650; } .quiet { fill: #56625c; }
.grid { stroke: #e1e4dd; } .axis { stroke: #56625c; } .line { fill: none; stroke-width: 2; }
.dashed { stroke-dasharray: 6 4; }
.s0 { stroke: #0a6650; } .s1 { stroke: #9c4517; } .s2 { stroke: #1b5aa8; }
.s3 { stroke: #7a2d92; } .s4 { stroke: #7d5200; } .s5 { stroke: #56625c; }
.dot { fill: #fafaf7; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  svg { background: #0f1211; } .dot { fill: #0f1211; }
  text { fill: #e8edea; } .quiet { fill: #9aa6a0; } .grid { stroke: #2a312e; } .axis { stroke: #9aa6a0; }
  .s0 { stroke: #62cfa9; } .s1 { stroke: #eba172; } .s2 { stroke: #8ab8f0; }
  .s3 { stroke: #d6a2ea; } .s4 { stroke: #e3b657; } .s5 { stroke: #9aa6a0; }
}
"""


@dataclass(frozen=True)
class Axis:
    """An axis' title, and the unit that its ticks are in (empty: a plain number)."""

    title: str
    unit: str = ""


@dataclass(frozen=True)
class Point:
    """One measured place; all positive."""

    x: float
    y: Interval


@dataclass(frozen=True)
class Series:
    """A named line; a dashed one has no marks: nothing was measured there."""

    name: str
    points: Sequence[Point]
    is_dashed: bool = False


@dataclass(frozen=True)
class Bar:
    """One row of a chart of intervals."""

    label: str
    interval: Interval


def line_plot(title: str, x_axis: Axis, y_axis: Axis, series: Sequence[Series]) -> str:
    """Return the log-log plot; raises ValueError when no series has a point."""
    points = [point for line in series for point in line.points]
    xs = scale_over((point.x for point in points), _LEFT, _RIGHT)
    ys = scale_over((end for point in points for end in (point.y.lo, point.y.hi)), _BOTTOM, _TOP)
    parts = [
        *_axes(xs, ys, x_axis, y_axis),
        *(part for at, line in enumerate(series) for part in _line(at, line, xs, ys, y_axis)),
        *_legend(series),
    ]
    return _document(title, _WIDTH, _HEIGHT, parts)


def interval_chart(title: str, axis: Axis, bars: Sequence[Bar]) -> str:
    """Return one row per bar on a logarithmic axis that shows 1; raises ValueError without bars."""
    if not bars:
        raise ValueError("there is nothing to plot")
    left = 34 + _LETTER * max(len(bar.label) for bar in bars)
    right = left + _CHART_WIDTH
    bottom = _TOP + _ROW_HEIGHT * len(bars)
    ends = [end for bar in bars for end in (bar.interval.lo, bar.interval.hi)]
    xs = scale_over([1.0, *ends], left, right)
    parts = [*_x_axis(xs, axis, _TOP, bottom), _rule(xs.at(1.0), xs.at(1.0), _TOP, bottom, "axis")]
    for number, bar in enumerate(bars):
        parts += _bar(bar, xs, _TOP + _ROW_HEIGHT * number + _ROW_HEIGHT / 2, axis)
    return _document(title, right + 36, bottom + 64, parts)


def _axes(xs: LogScale, ys: LogScale, x_axis: Axis, y_axis: Axis) -> Iterator[str]:
    yield from _x_axis(xs, x_axis, _TOP, _BOTTOM)
    for value in ys.ticks():
        at = ys.at(value)
        yield _rule(_LEFT, _RIGHT, at, at, "grid")
        yield _text(_LEFT - 8, at + 4, number_text(value, y_axis.unit), "quiet", "end")
    yield _rule(_LEFT, _LEFT, _TOP, _BOTTOM, "axis")
    middle = (_TOP + _BOTTOM) / 2
    yield (
        f'<text class="quiet" text-anchor="middle" transform="translate(18 {middle:g}) rotate(-90)">'
        f"{escape(y_axis.title)}</text>"
    )


def _x_axis(xs: LogScale, axis: Axis, top: float, bottom: float) -> Iterator[str]:
    for value in xs.ticks():
        at = xs.at(value)
        yield _rule(at, at, top, bottom, "grid")
        yield _text(at, bottom + 18, number_text(value, axis.unit), "quiet", "middle")
    yield _rule(xs.first, xs.last, bottom, bottom, "axis")
    yield _text((xs.first + xs.last) / 2, bottom + 42, axis.title, "quiet", "middle")


def _line(at: int, series: Series, xs: LogScale, ys: LogScale, y_axis: Axis) -> Iterator[str]:
    colour = f"s{at % _COLOURS}"
    places = [(xs.at(point.x), ys.at(point.y.value), point) for point in series.points]
    joined = " ".join(f"{x:g},{y:g}" for x, y, _ in places)
    dashed = " dashed" if series.is_dashed else ""
    yield f'<polyline class="line {colour}{dashed}" points="{joined}"/>'
    for x, y, point in () if series.is_dashed else places:
        described = f"{series.name}, {point.x:g}: {_interval_text(point.y, y_axis)}"
        yield _rule(x, x, ys.at(point.y.lo), ys.at(point.y.hi), colour)
        yield _dot(x, y, colour, described)


def _bar(bar: Bar, xs: LogScale, y: float, axis: Axis) -> Iterator[str]:
    low, high = xs.at(bar.interval.lo), xs.at(bar.interval.hi)
    colour = "s0" if bar.interval.lo > 1 else "s1" if bar.interval.hi < 1 else "s5"
    described = f"{bar.label}: {_interval_text(bar.interval, axis)}"
    yield _text(xs.first - 10, y + 4, bar.label, "", "end")
    yield f'<line class="{colour}" stroke-width="4" x1="{low:g}" x2="{high:g}" y1="{y:g}" y2="{y:g}"/>'
    yield _dot(xs.at(bar.interval.value), y, colour, described)


def _interval_text(interval: Interval, axis: Axis) -> str:
    value, low, high = (number_text(end, axis.unit) for end in (interval.value, interval.lo, interval.hi))
    return f"{value} ({low} to {high})"


def _legend(series: Sequence[Series]) -> Iterator[str]:
    x = float(_LEFT)
    for at, line in enumerate(series):
        dashed = " dashed" if line.is_dashed else ""
        yield f'<line class="line s{at % _COLOURS}{dashed}" x1="{x:g}" x2="{x + 26:g}" y1="48" y2="48"/>'
        yield _text(x + 32, 52, line.name, "", "start")
        x += 56 + 7.2 * len(line.name)


def _dot(x: float, y: float, colour: str, described: str) -> str:
    told = f"<title>{escape(described)}</title>"
    return f'<circle class="dot {colour}" cx="{x:g}" cy="{y:g}" r="3.5">{told}</circle>'


def _rule(x1: float, x2: float, y1: float, y2: float, names: str) -> str:
    return f'<line class="{names}" x1="{x1:g}" x2="{x2:g}" y1="{y1:g}" y2="{y2:g}"/>'


def _text(x: float, y: float, words: str, names: str, anchor: str) -> str:
    return f'<text class="{names}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def _document(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<text class="title" x="24" y="28">{escape(title)}</text>',
            *parts,
            "</svg>",
            "",
        ]
    )
