"""How a measured number is written: units always, digits after the interval, never broken in two lines."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from submissions.evaluation.statistics import Interval

NOT_MEASURED = "–"
_NBSP = "\N{NO-BREAK SPACE}"
_DIGITS_WITHOUT_INTERVAL = 3
_MOST_DIGITS = 5

_TIME_UNITS = ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
_BYTE_UNITS = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB"))
_SPAN_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def interval_of(value: Any) -> Interval | None:
    """Return the interval behind a template's value: an Interval or {value, lo, hi}; None where there is none."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, Mapping) and {"value", "lo", "hi"} <= value.keys():
        return None if value["value"] is None else Interval.from_json(value)
    return None


def _number(value: Any) -> float | None:
    interval = interval_of(value)
    if interval is not None:
        return interval.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def decimals_for(value: float, half_width: float | None = None) -> int:
    """Return how many decimals show `value` no finer than its interval; negative: whole tens, hundreds…"""
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    if half_width is None or half_width <= 0:
        return _DIGITS_WITHOUT_INTERVAL - 1 - magnitude
    # Two digits are all that is read of it; more are noise of the arithmetic (0.0009999…).
    half_width = float(f"{half_width:.2g}")
    exponent = math.floor(math.log10(half_width))
    # A half-width of 1.1 to 1.9 keeps one digit more: one digit alone would misstate it by up to half.
    wanted = -exponent + (1 if 1.05 < half_width / 10.0**exponent < 1.95 else 0)
    return min(max(wanted, 1 - magnitude), _MOST_DIGITS - 1 - magnitude)


def fixed(value: float, decimals: int) -> str:
    """Write with exactly `decimals` decimals; thousands are grouped by a thin space."""
    rounded = round(value, decimals)
    return f"{rounded:,.{max(decimals, 0)}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _half_width(value: Any, scale: float) -> float | None:
    interval = interval_of(value)
    return None if interval is None else (interval.hi - interval.lo) / 2 / scale


def _unit_of(value: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    fitting = [unit for unit in units if abs(value) >= unit[0]]
    return fitting[-1] if fitting else units[0]


def time_text(value: Any) -> str:
    """Write nanoseconds as ns, µs, ms or s."""
    number = _number(value)
    if number is None:
        return NOT_MEASURED
    scale, unit = _unit_of(number, _TIME_UNITS)
    scaled = number / scale
    return f"{fixed(scaled, decimals_for(scaled, _half_width(value, scale)))}{_NBSP}{unit}"


def ratio_text(value: Any) -> str:
    """Write a speed-up: 1.31×."""
    number = _number(value)
    return NOT_MEASURED if number is None else f"{fixed(number, decimals_for(number, _half_width(value, 1.0)))}×"


def range_text(value: Any, kind: str = "ratio") -> str:
    """Write an interval's ends in the digits and the unit of its value: 1.29–1.33×."""
    interval = interval_of(value)
    if interval is None:
        return ""
    scale, unit = _unit_of(interval.value, _TIME_UNITS) if kind == "time" else (1.0, "×")
    decimals = decimals_for(interval.value / scale, _half_width(interval, scale))
    low, high = (fixed(end / scale, decimals) for end in (interval.lo, interval.hi))
    gap = _NBSP if kind == "time" else ""
    return f"{low}\N{WORD JOINER}–\N{WORD JOINER}{high}{gap}{unit}"


def gap_text(fraction: Any) -> str:
    """Write how much longer something takes: +6.3 %, or from double on 4.2× as long."""
    number = _number(fraction)
    if number is None:
        return NOT_MEASURED
    return f"+{percent_text(number)}" if number < 1 else f"{ratio_text(number + 1)}{_NBSP}as{_NBSP}long"


def percent_text(fraction: Any) -> str:
    """Write a fraction as %, one decimal under ten."""
    number = _number(fraction)
    if number is None:
        return NOT_MEASURED
    percent = number * 100
    return f"{fixed(percent, 0 if abs(percent) >= 10 else 1)}{_NBSP}%"


def _rate(value: Any, unit: str) -> str:
    number = _number(value)
    if number is None:
        return NOT_MEASURED
    scaled, prefix = (number / 1000, "T") if abs(number) >= 1000 else (number, "G")
    return f"{fixed(scaled, decimals_for(scaled))}{_NBSP}{prefix}{unit}"


def bandwidth_text(gigabytes_per_second: Any) -> str:
    return _rate(gigabytes_per_second, "B/s")


def throughput_text(gigaflops: Any) -> str:
    return _rate(gigaflops, "FLOP/s")


def bytes_text(count: Any) -> str:
    """Write a size in binary units."""
    number = _number(count)
    if number is None:
        return NOT_MEASURED
    scale, unit = _unit_of(number, _BYTE_UNITS)
    scaled = number / scale
    return f"{fixed(scaled, 0 if scale == 1.0 or scaled >= 100 else 1)}{_NBSP}{unit}"


def count_text(count: Any) -> str:
    number = _number(count)
    return NOT_MEASURED if number is None else fixed(number, 0)


def scientific_text(value: Any) -> str:
    """Write an error or a tolerance: 3.1e-3."""
    number = _number(value)
    if number is None:
        return NOT_MEASURED
    if number == 0:
        return "0"
    if 1e-3 <= abs(number) < 1e4:
        return fixed(number, max(decimals_for(number), 0))
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def span_text(seconds: Any) -> str:
    """Write a duration for people: 850 ms, 4.2 s, 3 min, 2 h."""
    number = _number(seconds)
    if number is None:
        return NOT_MEASURED
    if number < 1:
        return f"<1{_NBSP}ms" if 0 < number < 0.001 else f"{number * 1000:.0f}{_NBSP}ms"
    if number < 10:
        return f"{number:.1f}{_NBSP}s"
    size, unit = next((size, unit) for size, unit in _SPAN_UNITS if number >= size)
    return f"{int(number // size)}{_NBSP}{unit}"


def age_text(moment: datetime | None, now: datetime) -> str:
    """Write how long ago a moment was."""
    if moment is None:
        return NOT_MEASURED
    seconds = (now - moment).total_seconds()
    return "just now" if seconds < 10 else f"{span_text(seconds)}{_NBSP}ago"
