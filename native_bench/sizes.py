"""The points of a sweep: sizes from the command line, `n=1k:4m:8` or `m=n=k=32:512:6`, or named cases. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from native_bench.contract import dims_text
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.kernelbench import NamedCase
from submissions.kernel_package.problem import Case, Problem

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
    """The points of a sweep, and the span that varies among them (None: they differ in more than one extent)."""

    varying: Span | None
    cases: tuple[Case, ...]

    @property
    def points(self) -> tuple[Mapping[str, int], ...]:
        return tuple(case.dims for case in self.cases)


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


def plan_points(problem: Problem, spans: Sequence[Span], names: Mapping[str, str] | None = None) -> Plan:
    """Return the points; a parameter that no span names has its default.

    `names` has the problem's own name for each that the spans may use (default: its own only).
    Raises Rejected `sweep:sizes` for what the problem does not declare.
    """
    given = [name for span in spans for name in span.names]
    for name in given:
        if given.count(name) > 1:
            raise _refuse(f"the parameter {name!r} is given twice")
    names = _own_names(problem) if names is None else names
    for span in spans:
        _check_span(problem, span, names)
    varying = [span for span in spans if len(span.extents) > 1] or list(spans[:1])
    if len(varying) != 1:
        labels = " and ".join(span.label.replace(" ", "") for span in varying)
        raise _refuse(f"{labels} vary independently; let one range vary, or tie them as in m=n=32:512:6")
    own = Span(tuple(names[name] for name in varying[0].names), varying[0].extents)
    fixed = {names[name]: span.extents[0] for span in spans for name in span.names}
    points = [{**_defaults(problem), **fixed, **dict.fromkeys(own.names, size)} for size in own.extents]
    return Plan(own, tuple(_case_at(problem, _label(dims), dims) for dims in points))


def plan_cases(problem: Problem, named: Sequence[NamedCase]) -> Plan:
    """Return named cases as points, those with the fewest operations first.

    Raises Rejected `sweep:sizes` for what the problem does not declare.
    """
    names = _own_names(problem)
    for case in named:
        for name, extent in case.dims.items():
            _check_span(problem, Span((name,), (extent,)), names)
    cases = [_case_at(problem, case.id, {**_defaults(problem), **case.dims}) for case in named]
    cases.sort(key=lambda case: problem.flops_of(case.dims))
    return plan_of(cases)


def plan_of(cases: Sequence[Case]) -> Plan:
    """Return the plan of cases that nobody's span has spaced."""
    return Plan(_tied([case.dims for case in cases]), tuple(cases))


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


def _own_names(problem: Problem) -> dict[str, str]:
    return {parameter.name: parameter.name for parameter in problem.parameters}


def _defaults(problem: Problem) -> dict[str, int]:
    return {parameter.name: parameter.default for parameter in problem.parameters}


def _label(dims: Mapping[str, int]) -> str:
    return "_".join(f"{name}{extent}" for name, extent in dims.items())


def _case_at(problem: Problem, label: str, dims: Mapping[str, int]) -> Case:
    """Return the case of a size, drawn as the problem's first one is; raises Rejected where a tensor is empty."""
    for name, shape in problem.shapes(dims).items():
        if any(extent < 1 for extent in shape):
            raise _refuse(f"at {dims_text(dims)} {name!r} has the shape {list(shape)}: it is empty")
    return Case(label, dims, problem.cases[0].distribution)


def _tied(points: Sequence[Mapping[str, int]]) -> Span | None:
    """Return the parameters that differ among the points, if they have the same extent at each; else None."""
    names = [name for name in points[0] if len({dims[name] for dims in points}) > 1]
    extents = [{dims[name] for name in names} for dims in points]
    if not all(len(found) == 1 for found in extents):
        return None
    return Span(tuple(names), tuple(sorted(set().union(*extents))))


def _check_span(problem: Problem, span: Span, names: Mapping[str, str]) -> None:
    parameters = {parameter.name: parameter for parameter in problem.parameters}
    for name in span.names:
        if names.get(name) not in parameters:
            raise _refuse(f"{problem.id} has no parameter {name!r}; it has {', '.join(names)}")
        low, high = parameters[names[name]].min, parameters[names[name]].max
        for extent in span.extents:
            if not low <= extent <= high:
                raise _refuse(f"{name}={extent} is outside the range of {problem.id}, {low} to {high}")


def _refuse(message: str) -> Rejected:
    return Rejected("sweep:sizes", message)
