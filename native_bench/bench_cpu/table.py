"""The table as a person reads it, in Markdown. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from native_bench.bench_cpu.figures import Row
from native_bench.bench_cpu.goals import Judged, LeftOut

_HEADS = (
    "load", "kernel", "measured by", "runs", "time", "spread", "A/A p50", "A/A p99", "half-width", "truth held",
    "+1 % slower", "+1 % faster", "wall",
)  # fmt: skip
_NOTES = """\
A run of ours is a sitting of so many sets of fresh processes; of another tool, its program run once as it comes.
`spread`: standard deviation over mean of the times that the runs report. Where the clock rate moves, all times do;
a speed-up, which is what we report and rank by, is made of times that moved together.
`A/A`: the error in comparing a kernel with itself, by one sitting of ours, or by two runs of another tool, one
after the other; with few runs its p99 is the largest.
`half-width`, `truth held`: of the 95 % interval, over 4000 regroupings of the processes; other tools state none.
`+1 %`: how often a kernel with an injected delay is called slower, or (wrongly) faster.
`wall`: seconds for one run and one kernel; ours has three contestants in it."""


def table_text(document: Mapping[str, Any], rows: Sequence[Row], judged: Iterable[Judged | LeftOut]) -> str:
    """Return the whole report: the machine, the table, what was injected, the goals."""
    parts = [
        f"# The CPU clock, {document['measured_at']}",
        _machine_text(document),
        _rows_text(rows, document["missing"]),
        _injected_text(rows),
        _failures_text(rows),
        _NOTES,
        _goals_text(judged),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _machine_text(document: Mapping[str, Any]) -> str:
    machine = document["machine"]
    busy = ", ".join(f"{name} {100 * share:.0f} %" for name, share in document["busy_before"].items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['compilers']['g++']}; commit {document['commit']}. "
        f"Isolation {machine['isolation']}. Share of all cores that other work took before each load: {busy}."
    )


def _rows_text(rows: Sequence[Row], missing: Sequence[str]) -> str:
    lines = [_line(_HEADS), _line("---" for _ in _HEADS), *(_line(_cells(row)) for row in rows)]
    nothing = ["–"] * (len(_HEADS) - 3)
    return "\n".join([*lines, *(_line(("–", "–", message, *nothing)) for message in missing)])


def _cells(row: Row) -> tuple[str, ...]:
    found, power = row.agreement, row.power
    return (
        row.condition.name,
        row.kernel,
        row.way,
        str(row.runs),
        _time(row.time_ns),
        percent(row.spread),
        percent(row.error_p50),
        percent(row.error_p99),
        percent(found.half_width if found else None),
        percent(found.coverage if found else None),
        percent(power.slower if power else None),
        percent(power.faster if power else None),
        "–" if row.wall_seconds is None else f"{row.wall_seconds:.2g} s",
    )


def _injected_text(rows: Sequence[Row]) -> str:
    told = {
        f"{row.kernel} {row.condition.name}": f"{100 * row.injected:+.2f} %"
        for row in rows
        if row.injected is not None
    }
    listed = ", ".join(f"{where} {share}" for where, share in told.items())
    return f"Really injected, by the least times: {listed}." if told else ""


def _failures_text(rows: Sequence[Row]) -> str:
    told = {f"{row.kernel} {row.condition.name}": row.failures for row in rows if row.failures}
    listed = (
        f"{where} {', '.join(f'{code} ×{count}' for code, count in codes.items())}"
        for where, codes in told.items()
    )
    return f"Sets of processes without a figure: {'; '.join(listed)}." if told else ""


def _goals_text(judged: Iterable[Judged | LeftOut]) -> str:
    lines = [_line(("figure", "value", "goal", "holds")), _line(("---",) * 4)]
    for one in judged:
        if isinstance(one, LeftOut):
            lines.append(_line((one.figure, "–", "–", f"left out: {one.reason}")))
        else:
            lines.append(
                _line((one.figure, f"{one.value:.3g} {one.unit}", one.goal, "yes" if one.holds else "no"))
            )
    return "\n".join(lines)


def percent(share: float | None) -> str:
    """Return a fraction as percent with two significant digits, more where it is near 100; `–` for None."""
    if share is None:
        return "–"
    value = 100 * share
    if value == 0 or value >= 10:
        return f"{value:.1f} %".replace(".0 %", " %")
    return f"{value:.2g} %"


def _time(time_ns: float | None) -> str:
    if time_ns is None:
        return "–"
    return f"{time_ns / 1000:.4g} µs" if time_ns >= 1000 else f"{time_ns:.4g} ns"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
