"""Interval bars and their axis as SVG text. Horizontal places are percentages, so that a drawing fills any width
without scaling its text; colours come from classes, so that both themes work."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from leaderboard.figures import range_text, ratio_text
from submissions.evaluation.statistics import Interval

_PADDING_PERCENT = 3.0
_OCTAVES = tuple(2.0**power for power in range(-10, 21))
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_MOST_TICKS = 5


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis of speed-ups that always shows the baseline, 1×."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def percent(self, value: float) -> float:
        """Return where a speed-up lies, in percent of the width; what lies outside is put at the end."""
        span = math.log(self.high / self.low)
        share = math.log(max(value, self.low) / self.low) / span
        return round(_PADDING_PERCENT + min(share, 1.0) * (100 - 2 * _PADDING_PERCENT), 2)


def scale_over(intervals: Iterable[Interval | None]) -> Scale | None:
    """Return the axis that holds every interval and 1×; None when there is nothing to draw."""
    known = [interval for interval in intervals if interval is not None and interval.lo > 0]
    if not known:
        return None
    low = min(1.0, *(interval.lo for interval in known))
    high = max(1.0, *(interval.hi for interval in known))
    margin = max((high / low) ** 0.06, 1.002)
    return Scale(low / margin, high * margin, _ticks(low / margin, high * margin))


def tick_text(value: float) -> str:
    return f"{value:g}×"


def text_anchor(percent: float) -> str:
    """Return how a label is anchored so that it stays inside the drawing."""
    return "start" if percent < 8 else "end" if percent > 92 else "middle"


def interval_bar(interval: Interval, scale: Scale, label: str = "") -> SafeString:
    """Draw one speed-up: a bar from the baseline to what is sure, the interval's band, the value's mark."""
    kind = "faster" if interval.lo > 1 else "slower" if interval.hi < 1 else "level"
    sure = interval.lo if kind == "faster" else interval.hi if kind == "slower" else 1.0
    described = f"{label} {ratio_text(interval)}, 95 % interval {range_text(interval)}".strip()
    return format_html(
        '<svg class="bar bar-{}" width="100%" height="26" role="img" aria-label="{}"><title>{}</title>{}</svg>',
        kind,
        described,
        described,
        _rule("bar-base", scale.percent(1.0), 0, 26)
        + _span("bar-sure", scale.percent(1.0), scale.percent(sure), 9, 8)
        + _span("bar-band", scale.percent(interval.lo), scale.percent(interval.hi), 6, 14)
        + _rule("bar-end", scale.percent(interval.lo), 6, 20)
        + _rule("bar-end", scale.percent(interval.hi), 6, 20)
        + _rule("bar-mark", scale.percent(interval.value), 4, 22),
    )


def interval_axis(scale: Scale) -> SafeString:
    """Draw the axis over a column of interval bars."""
    places = [(scale.percent(tick), tick_text(tick)) for tick in scale.ticks]
    labels = format_html_join(
        "",
        '<text class="axis-text" x="{}%" y="11" text-anchor="{}">{}</text>{}',
        ((at, text_anchor(at), text, _rule("axis-tick", at, 15, 20)) for at, text in places),
    )
    return format_html(
        '<svg class="axis" width="100%" height="20" aria-hidden="true">{}'
        '<line class="axis-line" x1="0" x2="100%" y1="19.5" y2="19.5"/></svg>',
        labels,
    )


def _ticks(low: float, high: float) -> tuple[float, ...]:
    octaves = [value for value in _OCTAVES if low <= value <= high]
    if len(octaves) >= 3:
        stride = math.ceil(len(octaves) / _MOST_TICKS)
        return tuple(octaves[octaves.index(1.0) % stride :: stride])
    step = next((step for step in _STEPS if (high - low) / step <= _MOST_TICKS), _STEPS[-1])
    first, last = math.ceil(low / step), math.floor(high / step)
    return tuple(round(index * step, 6) for index in range(first, last + 1))


def _rule(name: str, percent: float, top: int, bottom: int) -> SafeString:
    return format_html('<line class="{}" x1="{x}%" x2="{x}%" y1="{}" y2="{}"/>', name, top, bottom, x=percent)


def _span(name: str, start: float, end: float, top: int, height: int) -> SafeString:
    return format_html(
        '<rect class="{}" x="{}%" width="{}%" y="{}" height="{}"/>',
        name,
        min(start, end),
        round(abs(end - start), 2),
        top,
        height,
    )
