"""A sweep's times against what varies, or else against the operations of a call, as a log-log plot."""

from collections.abc import Callable, Mapping, Sequence

from native_bench.figures import Figures
from native_bench.plot import Axis, Point, Series, line_plot
from native_bench.sizes import Span
from submissions.evaluation.statistics import Interval
from submissions.kernel_package.problem import Problem

LIMIT = "measured limit"
WORK = "operations of one call"


def sweep_svg(rows: Sequence[Figures], problem: Problem, varying: Span | None) -> str:
    """Return the kernel's and the baseline's time, and the roofline's where it is known, at every size.

    Where no span varies (None) the axis is that of operations. Raises ValueError when nothing was timed.
    """
    first = rows[0]
    sizes = [_size(problem, varying, row.dims) for row in rows]
    series = [
        _series(_name(first.kernel_id), sizes, rows, lambda row: row.t_ns),
        *(
            [_series(_name(first.baseline), sizes, rows, lambda row: row.base_t_ns)]
            if first.baseline != first.kernel_id
            else []
        ),
        _series(LIMIT, sizes, rows, _limit, is_dashed=True),
    ]
    title = f"{problem.id}: time by size"
    return line_plot(
        title,
        Axis(_x_title(problem, varying)),
        Axis("time of one call", "ns"),
        [line for line in series if line.points],
    )


def _size(problem: Problem, varying: Span | None, dims: Mapping[str, int]) -> int:
    return problem.flops_of(dims) if varying is None else dims[varying.names[0]]


def _x_title(problem: Problem, varying: Span | None) -> str:
    if varying is None:
        return WORK
    if len(varying.names) > 1:
        return varying.label
    label = next(parameter.label for parameter in problem.parameters if parameter.name == varying.names[0])
    return f"{label} ({varying.label})"


def _series(
    name: str,
    sizes: Sequence[int],
    rows: Sequence[Figures],
    time_of: Callable[[Figures], Interval | None],
    is_dashed: bool = False,
) -> Series:
    timed = [(size, time_of(row)) for size, row in zip(sizes, rows, strict=True)]
    return Series(name, [Point(size, time) for size, time in timed if time is not None], is_dashed)


def _limit(row: Figures) -> Interval | None:
    return None if row.t_sol_ns is None else Interval(row.t_sol_ns, row.t_sol_ns, row.t_sol_ns)


def _name(kernel_id: str) -> str:
    return kernel_id.rsplit("/", 1)[-1]
