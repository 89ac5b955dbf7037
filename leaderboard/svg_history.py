"""A kernel's or a board's accepted speed-ups over time, as steps with their interval bands, in SVG text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from leaderboard.figures import range_text, ratio_text
from leaderboard.svg import Scale, scale_over, tick_text
from submissions.evaluation.statistics import Interval

_HEIGHT = 190
_TOP, _BOTTOM = 14, 160
_FIRST_PERCENT, _LAST_PERCENT, _END_PERCENT = 10.0, 92.0, 98.5


class MeasuredAt(Protocol):
    """Anything with an accepted figure and its time."""

    @property
    def accepted_at(self) -> datetime: ...

    @property
    def speedup(self) -> Interval | None: ...


@dataclass(frozen=True)
class HistoryPoint:
    """One accepted measuring, as a step of the history."""

    at: datetime
    speedup: Interval


def history_points(points: Iterable[MeasuredAt]) -> tuple[HistoryPoint, ...]:
    """Return the points that have a figure, oldest first."""
    known = [HistoryPoint(point.accepted_at, point.speedup) for point in points if point.speedup]
    return tuple(sorted(known, key=lambda point: point.at))


def history_plot(points: Sequence[HistoryPoint], title: str) -> SafeString | str:
    """Draw the points as steps; empty where there is nothing to draw."""
    scale = scale_over(point.speedup for point in points)
    if scale is None:
        return ""
    described = f"{title}: {len(points)} measured, now {ratio_text(points[-1].speedup)}"
    return format_html(
        '<svg class="history" width="100%" height="{}" role="img" aria-label="{}"><title>{}</title>{}{}{}</svg>',
        _HEIGHT,
        described,
        described,
        _grid(scale),
        _days(points[0].at, points[-1].at),
        _steps(scale, points),
    )


def _height(scale: Scale, value: float) -> float:
    return round(_BOTTOM - scale.percent(value) / 100 * (_BOTTOM - _TOP), 1)


def _grid(scale: Scale) -> SafeString:
    return format_html_join(
        "",
        '<line class="{}" x1="52" x2="100%" y1="{}" y2="{}"/>'
        '<text class="axis-text" x="44" y="{}" text-anchor="end">{}</text>',
        (
            ("bar-base" if tick == 1.0 else "grid-line", at, at, at + 4, tick_text(tick))
            for tick, at in ((tick, _height(scale, tick)) for tick in scale.ticks)
        ),
    )


def _days(first: datetime, last: datetime) -> SafeString:
    return format_html(
        '<text class="axis-text" x="52" y="184">{}</text>'
        '<text class="axis-text" x="100%" y="184" text-anchor="end">{}</text>',
        f"{first:%Y-%m-%d}",
        f"{last:%Y-%m-%d}" if last.date() != first.date() else "",
    )


def _steps(scale: Scale, points: Sequence[HistoryPoint]) -> SafeString:
    starts = _percents([point.at for point in points])
    ends = [*starts[1:], _END_PERCENT]
    befores = [points[0], *points]
    return format_html_join(
        "",
        "{}",
        (
            (_step(scale, point, before, start, end),)
            for point, before, start, end in zip(points, befores, starts, ends, strict=False)
        ),
    )


def _step(scale: Scale, point: HistoryPoint, before: HistoryPoint, start: float, end: float) -> SafeString:
    top, bottom = _height(scale, point.speedup.hi), _height(scale, point.speedup.lo)
    return format_html(
        '<rect class="step-band" x="{x}%" y="{}" width="{}%" height="{}"/>'
        '<line class="step-rise" x1="{x}%" x2="{x}%" y1="{}" y2="{y}"/>'
        '<line class="step" x1="{x}%" x2="{}%" y1="{y}" y2="{y}"/>'
        '<circle class="step-dot" cx="{x}%" cy="{y}" r="4"><title>{}</title></circle>',
        top,
        round(end - start, 2),
        round(bottom - top, 1),
        _height(scale, before.speedup.value),
        end,
        f"{point.at:%Y-%m-%d %H:%M} UTC: {ratio_text(point.speedup)} ({range_text(point.speedup)})",
        x=start,
        y=_height(scale, point.speedup.value),
    )


def _percents(times: Sequence[datetime]) -> list[float]:
    span = (times[-1] - times[0]).total_seconds()
    room = _LAST_PERCENT - _FIRST_PERCENT
    if span <= 0:
        return [round(_FIRST_PERCENT + room * index / len(times), 2) for index in range(len(times))]
    return [round(_FIRST_PERCENT + room * (at - times[0]).total_seconds() / span, 2) for at in times]
