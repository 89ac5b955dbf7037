"""Rows of figures as a person reads them in a terminal."""

from collections.abc import Sequence

from native_bench.figures import Figures
from native_bench.table import ratio_text, time_text

_TIMES = ("time", "baseline")
_MISSING = "-"


def figures_text(rows: Sequence[Figures], *, with_kernel: bool, times: tuple[str, str] = _TIMES) -> str:
    """Return the table, under it what is to be said of a row or why it is empty; `times` heads the two times."""
    heads = ["case", *times, "speed-up", "GB/s", "GFLOP/s", "roofline"]
    lines = [[*(["kernel"] if with_kernel else []), *heads]]
    lines += [[*([row.kernel_id] if with_kernel else []), *_cells(row)] for row in rows]
    words = 2 if with_kernel else 1
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    table = [
        "  ".join(cell.ljust(width) if at < words else cell.rjust(width) for at, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    ]
    reasons = [_reason(row) for row in rows if row.message or not row.is_ok]
    return "\n".join([line.rstrip() for line in table] + ([""] if reasons else []) + reasons)


def short_text(row: Figures) -> str:
    """Return a row's figures in one phrase."""
    if row.t_ns is None:
        return f"{row.verdict} ({row.code})"
    known = [(row.gbs, "GB/s"), (row.gflops, "GFLOP/s")]
    rates = [f"{value:.3g} {unit}" for value, unit in known if value is not None]
    return ", ".join([time_text(row.t_ns), *rates])


def _cells(row: Figures) -> list[str]:
    if row.t_ns is None or row.base_t_ns is None or row.speedup is None:
        return [row.case, row.verdict, *[_MISSING] * 5]
    share = _MISSING if row.sol_fraction is None else f"{100 * row.sol_fraction:.0f} %"
    figures = (time_text(row.t_ns), time_text(row.base_t_ns), ratio_text(row.speedup))
    return [row.case, *figures, _rate(row.gbs), _rate(row.gflops), share]


def _rate(value: float | None) -> str:
    return _MISSING if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _reason(row: Figures) -> str:
    ended = "" if row.is_ok else f"{row.verdict} ({row.code}): "
    return f"{row.kernel_id} {row.case}".rstrip() + f": {ended}{row.message}"
