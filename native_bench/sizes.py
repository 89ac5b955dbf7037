"""The sizes of a sweep, as the command line gives them: `n=1k:4m:8`, `m=n=k=32:512:6`, `k=64`. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from native_bench.contract import dims_text
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.problem import Problem

MOST_POINTS = 100
_SUFFIXES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_NUMBER = re.compile(r"([0-9]{1,18})([kmg]?)", re.ASCII | re.IGNORECASE)
_FORM = "sizes are given as n=1k:4m:8 (from, to, how many), m=n=k=32:512:6 or k=64"


@dataclass(frozen=True)
class Span:
    """One `--sizes`: parameters that have the same extent, and which extents they take, least first."""

    names: tuple[str, ...]
    extents: tuple[int, ...]

    @property
    def label(self) -> str:
        return " = ".join(self.names)


@dataclass(frozen=True)
class Plan:
    """The points of a sweep, and the span that varies among them."""

    varying: Span
    points: tuple[Mapping[str, int], ...]


def parse_number(text: str) -> int:
    """Read `4096`, `4k` or `1m` (k is 1024, m its square, g its cube); raises Rejected `sweep:sizes`."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise _refuse(f"{text!r} is no whole number; k, m and g may follow it")
    return int(match[1]) * _SUFFIXES[match[2].lower()]


def parse_span(text: str) -> Span:
    """Read one `--sizes`; its points are spaced evenly in logs. Raises Rejected `sweep:sizes`."""
    *names, extents = text.split("=")
    if not names or not all(name.isidentifier() for name in names):
        raise _refuse(f"{text!r} names no parameter; {_FORM}")
    if len({*names}) < len(names):
        raise _refuse(f"{text!r} names a parameter twice")
    parts = extents.split(":")
    if len(parts) not in (1, 3):
        raise _refuse(f"{text!r} is no range; {_FORM}")
    numbers = [parse_number(part) for part in parts]
    if len(numbers) == 1:
        return Span(tuple(names), (numbers[0],))
    if 0 in numbers:
        raise _refuse(f"{text!r} has a zero; a range and its number of points begin at 1")
    return Span(tuple(names), _spaced(text, *numbers))


def plan_points(problem: Problem, spans: Sequence[Span]) -> Plan:
    """Return the points; a parameter that no span names has its default.

    Raises Rejected `sweep:sizes` for what the problem does not declare.
    """
    named = [name for span in spans for name in span.names]
    for name in named:
        if named.count(name) > 1:
            raise _refuse(f"the parameter {name!r} is given twice")
    for span in spans:
        _check_span(problem, span)
    varying = [span for span in spans if len(span.extents) > 1] or list(spans[:1])
    if len(varying) != 1:
        labels = " and ".join(span.label.replace(" ", "") for span in varying)
        raise _refuse(f"{labels} vary independently; let one range vary, or tie them as in m=n=32:512:6")
    defaults = {parameter.name: parameter.default for parameter in problem.parameters}
    fixed = {name: span.extents[0] for span in spans for name in span.names}
    points = [{**defaults, **fixed, **dict.fromkeys(varying[0].names, size)} for size in varying[0].extents]
    for dims in points:
        _check_shapes(problem, dims)
    return Plan(varying[0], tuple(points))


def _spaced(text: str, low: int, high: int, count: int) -> tuple[int, ...]:
    if low > high:
        raise _refuse(f"{text!r} is reversed: it begins at {low} and ends at {high}")
    if count > MOST_POINTS:
        raise _refuse(f"{text!r} asks for {count} points; {MOST_POINTS} at most")
    if count == 1:
        if low != high:
            raise _refuse(f"{text!r} asks for one point of a range; give at least 2, or one size")
        return (low,)
    # A narrow range has fewer whole numbers than points.
    inner = (round(low * (high / low) ** (at / (count - 1))) for at in range(1, count - 1))
    return tuple(sorted({low, *inner, high}))


def _check_span(problem: Problem, span: Span) -> None:
    parameters = {parameter.name: parameter for parameter in problem.parameters}
    for name in span.names:
        if name not in parameters:
            known = ", ".join(parameters)
            raise _refuse(f"{problem.id} has no parameter {name!r}; it has {known}")
        low, high = parameters[name].min, parameters[name].max
        for extent in span.extents:
            if not low <= extent <= high:
                raise _refuse(f"{name}={extent} is outside the range of {problem.id}, {low} to {high}")


def _check_shapes(problem: Problem, dims: Mapping[str, int]) -> None:
    for name, shape in problem.shapes(dims).items():
        if any(extent < 1 for extent in shape):
            raise _refuse(f"at {dims_text(dims)} {name!r} has the shape {list(shape)}: it is empty")


def _refuse(message: str) -> Rejected:
    return Rejected("sweep:sizes", message)
