"""The one number formatter of the templates; every figure on a page passes through it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from leaderboard import figures, svg, svg_history

register = template.Library()

register.filter("time_ns", figures.time_text)
register.filter("times", figures.ratio_text)
register.filter("range", figures.range_text)
register.filter("percent", figures.percent_text)
register.filter("gap", figures.gap_text)
register.filter("gbs", figures.bandwidth_text)
register.filter("gflops", figures.throughput_text)
register.filter("bytes", figures.bytes_text)
register.filter("count", figures.count_text)
register.filter("scientific", figures.scientific_text)
register.filter("span", figures.span_text)


@register.filter("span_ms")
def span_ms(milliseconds: Any) -> str:
    return figures.span_text(milliseconds / 1000 if isinstance(milliseconds, int | float) else None)


@register.filter
def age(moment: datetime | None) -> SafeString | str:
    """Relative for reading, the exact UTC instant for machines and on hover."""
    if moment is None:
        return figures.NOT_MEASURED
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        moment.isoformat(timespec="seconds"),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        figures.age_text(moment, timezone.now()),
    )


@register.simple_tag
def interval_bar(value: Any, scale: svg.Scale | None, label: str = "") -> SafeString | str:
    interval = figures.interval_of(value)
    return svg.interval_bar(interval, scale, label) if interval and scale else ""


@register.simple_tag
def interval_axis(scale: svg.Scale | None) -> SafeString | str:
    return svg.interval_axis(scale) if scale else ""


@register.simple_tag
def history_plot(points: Sequence[svg_history.HistoryPoint], title: str) -> SafeString | str:
    return svg_history.history_plot(points, title)
