"""A sweep's times against its sizes, as a log-log plot."""

from collections.abc import Callable, Sequence

from native_bench.figures import Figures
from native_bench.plot import Axis, Point, Series, line_plot
from native_bench.sizes import Span
from submissions.evaluation.statistics import Interval
from submissions.kernel_package.problem import Problem

LIMIT = "measured limit"


def sweep_svg(rows: Sequence[Figures], problem: Problem, varying: Span) -> str:
    """Return the kernel's and the baseline's time, and the roofline's where it is known, at every size.

    Raises ValueError when nothing was timed.
    """
    first = rows[0]
    series = [
        _series(_name(first.kernel_id), rows, varying, lambda row: row.t_ns),
        *(
            [_series(_name(first.baseline), rows, varying, lambda row: row.base_t_ns)]
            if first.baseline != first.kernel_id
            else []
        ),
        _series(LIMIT, rows, varying, _limit, is_dashed=True),
    ]
    label = next(parameter.label for parameter in problem.parameters if parameter.name == varying.names[0])
    x_title = varying.label if len(varying.names) > 1 else f"{label} ({varying.label})"
    title = f"{problem.id}: time by size"
    return line_plot(
        title, Axis(x_title), Axis("time of one call", "ns"), [line for line in series if line.points]
    )


def _series(
    name: str,
    rows: Sequence[Figures],
    varying: Span,
    time_of: Callable[[Figures], Interval | None],
    is_dashed: bool = False,
) -> Series:
    timed = [(row.dims[varying.names[0]], time_of(row)) for row in rows]
    return Series(name, [Point(size, time) for size, time in timed if time is not None], is_dashed)


def _limit(row: Figures) -> Interval | None:
    return None if row.t_sol_ns is None else Interval(row.t_sol_ns, row.t_sol_ns, row.t_sol_ns)


def _name(kernel_id: str) -> str:
    return kernel_id.rsplit("/", 1)[-1]
