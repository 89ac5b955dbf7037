"""Logarithmic axes: where a value lies, which ticks there are, and how they are written. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_DIGITS = (1, 2, 5)
_MOST_TICKS = 10


@dataclass(frozen=True)
class LogScale:
    """A logarithmic axis from `low` to `high`, drawn between two pixels."""

    low: float
    high: float
    first: float
    last: float

    def at(self, value: float) -> float:
        """Return the pixel of a positive value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.first + share * (self.last - self.first), 1)

    def ticks(self) -> list[float]:
        """Return from 2 to 10 round values: powers of ten, or 1, 2 and 5 times them, or even steps, as fits."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        round_values = [digit * 10.0**decade for decade in decades for digit in _DIGITS]
        found = [value for value in round_values if self.low <= value <= self.high]
        if len(found) < 3:
            return self._even_ticks()
        powers = [value for value in found if value in round_values[::3]]
        if len(found) > _MOST_TICKS and len(powers) > 1:
            found = powers
        return found[:: math.ceil(len(found) / _MOST_TICKS)]

    def _even_ticks(self) -> list[float]:
        """Return the multiples of the least round step that gives no more than five of them."""
        span = self.high - self.low
        least = math.floor(math.log10(span / 5))
        steps = (digit * 10.0**decade for decade in (least, least + 1) for digit in _DIGITS)
        step = next(step for step in steps if span / step <= 5)
        ticks = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        return [float(f"{number * step:.9g}") for number in ticks]


def scale_over(values: Iterable[float], first: float, last: float) -> LogScale:
    """Return the axis that holds these values with a margin; raises ValueError where none is positive."""
    known = [value for value in values if value > 0 and math.isfinite(value)]
    if not known:
        raise ValueError("there is nothing to plot")
    margin = max((max(known) / min(known)) ** 0.04, 1.05)
    return LogScale(min(known) / margin, max(known) * margin, first, last)


def number_text(value: float, unit: str) -> str:
    """Return a number as short as a plot takes it; a time, given in ns, in the unit that suits it."""
    if unit == "ns":
        for name, factor in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
            if value < 999.5 * factor:
                return f"{value / factor:.3g} {name}"
        return f"{value / 1e9:.3g} s"
    for suffix, factor in (("", 1.0), ("k", 1e3), ("M", 1e6)):
        if value < 999.95 * factor:
            return f"{value / factor:.4g}{suffix}{unit}"
    return f"{value / 1e9:.4g}G{unit}"
