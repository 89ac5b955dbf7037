"""The figures of one kernel on one case, as tables, files and plots take them."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from submissions.evaluation.bench_result import rounded
from submissions.evaluation.roofline import sol_fraction
from submissions.evaluation.statistics import Interval, ratio_interval, time_interval
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.problem import Problem

_INTERVALS = ("t_ns", "base_t_ns", "speedup")
_COUNTS = ("gbs", "gflops", "t_sol_ns", "sol_fraction")
_WORDS = ("kernel_id", "baseline", "case", "verdict", "code", "message")


@dataclass(frozen=True)
class Figures:
    """One row. Without a time (`t_ns` None) `verdict`, `code` and `message` say why; `case` may then be empty.
    With one, `message` says what speaks against believing it.

    `speedup` is over `baseline`. `gbs` and `gflops` (1e9 per second) count the problem's own bytes and operations.
    """

    kernel_id: str
    baseline: str
    case: str
    dims: Mapping[str, int]
    verdict: str
    code: str
    message: str
    t_ns: Interval | None = None
    base_t_ns: Interval | None = None
    speedup: Interval | None = None
    gbs: float | None = None
    gflops: float | None = None
    t_sol_ns: float | None = None
    sol_fraction: float | None = None

    @property
    def is_ok(self) -> bool:
        return self.verdict == Verdict.OK

    def as_json(self) -> dict[str, Any]:
        intervals = {name: _interval_json(getattr(self, name)) for name in _INTERVALS}
        counts = {name: _rounded(getattr(self, name)) for name in _COUNTS}
        words = {name: getattr(self, name) for name in _WORDS}
        return {**words, "dims": dict(self.dims), **intervals, **counts}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `as_json` wrote; raises ValueError on anything else."""
        try:
            members: dict[str, Any] = {name: str(document[name]) for name in _WORDS}
            members |= {name: _interval(document[name]) for name in _INTERVALS}
            members |= {name: _count(document[name]) for name in _COUNTS}
            members["dims"] = {str(name): int(extent) for name, extent in document["dims"].items()}
        except (KeyError, TypeError, AttributeError) as fault:
            raise ValueError(f"this is no row of figures: {fault!r}") from None
        return cls(**members)


def figures_of(kernel_id: str, baseline: str, problem: Problem, result: Mapping[str, Any]) -> list[Figures]:
    """Return one row for each timed case of a result; one row with the reason where nothing was timed."""
    ended = (str(result["verdict"]), str(result["code"]), str(result["message"]))
    timed = [case for case in result["cases"] if "log_ratio" in case]
    if timed:
        doubts = {
            name: doubt["message"] for doubt in result["details"].get("integrity", []) for name in doubt["cases"]
        }
        told = {case["id"]: (*ended[:2], doubts.get(case["id"], ended[2])) for case in timed}
        return [_figures(kernel_id, baseline, problem, case, told[case["id"]]) for case in timed]
    only = problem.cases[0] if len(problem.cases) == 1 else None
    return [Figures(kernel_id, baseline, only.id if only else "", only.dims if only else {}, *ended)]


def _figures(
    kernel_id: str, baseline: str, problem: Problem, timed: Mapping[str, Any], ended: tuple[str, str, str]
) -> Figures:
    dims = next(case.dims for case in problem.cases if case.id == timed["id"])
    time = time_interval(timed["t_min_ns"])
    operations = problem.flops_of(dims)
    t_sol_ns = timed.get("t_sol_ns")
    return Figures(
        kernel_id,
        baseline,
        timed["id"],
        dims,
        *ended,
        t_ns=time,
        base_t_ns=time_interval(timed["base_t_min_ns"]),
        speedup=ratio_interval(timed["log_ratio"]["baseline"]),
        gbs=problem.bytes_min_of(dims) / time.value,
        gflops=operations / time.value if operations else None,
        t_sol_ns=t_sol_ns,
        sol_fraction=sol_fraction(time.value, t_sol_ns),
    )


def read_figures(path: Path) -> list[Figures]:
    """Return the rows of a file that a measuring verb printed with --json; raises Rejected."""
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
            raise ValueError("it has no rows; `run`, `compare`, `sweep` and `report` write them with --json")
        return [Figures.from_json(row) for row in document["rows"]]
    except (OSError, ValueError) as fault:
        raise Rejected("report:file", f"{path} can't be read as results: {fault}") from None


def csv_text(rows: Sequence[Figures]) -> str:
    """Return the rows as CSV with a heading; each interval takes three columns, each dim one."""
    sizes = sorted({name for row in rows for name in row.dims})
    spread = [f"{name}{end}" for name in _INTERVALS for end in ("", "_lo", "_hi")]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["kernel_id", "baseline", "case", *sizes, *spread, *_COUNTS, "verdict", "code", "message"])
    for row in rows:
        document = row.as_json()
        intervals = [(document[name] or {}).get(end, "") for name in _INTERVALS for end in ("value", "lo", "hi")]
        counts = ["" if document[name] is None else document[name] for name in _COUNTS]
        extents = [row.dims.get(name, "") for name in sizes]
        ended = [row.verdict, row.code, row.message]
        writer.writerow([row.kernel_id, row.baseline, row.case, *extents, *intervals, *counts, *ended])
    return written.getvalue()


def _interval(document: Mapping[str, float] | None) -> Interval | None:
    if document is None:
        return None
    interval = Interval.from_json(document)
    if not 0 < interval.lo <= interval.value <= interval.hi < math.inf:
        raise ValueError(f"{document} is no interval of positive numbers")
    return interval


def _count(value: float | None) -> float | None:
    if value is not None and not 0 <= float(value) < math.inf:
        raise ValueError(f"{value} is no count")
    return None if value is None else float(value)


def _interval_json(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else {name: rounded(value) for name, value in interval.as_json().items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else rounded(value)
