"""One kernel as every reader sees it: figures with intervals, times per case, rank, or why it has none."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from leaderboard.models import BenchPoint, Kernel
from leaderboard.ranking import Yardstick, obstacle
from submissions.evaluation.statistics import Interval


@dataclass(frozen=True)
class CaseFigures:
    """One case of a kernel's standing figures; what was not measured is None."""

    case_id: str
    t_ns: Interval | None
    base_t_ns: Interval | None
    speedup: Interval | None
    achieved_gbs: float | None
    achieved_gflops: float | None
    sol_fraction: float | None
    max_scaled_error: float | None


@dataclass(frozen=True)
class Standing:
    """One kernel as a row: `rank` is its place in the ranking it is shown in, None with `why_not_ranked`."""

    kernel_id: str
    board_id: str
    problem_id: str
    arch: str
    name: str
    title: str
    summary: str
    status: str
    evidence: str
    language: str
    harness: str
    mode: str
    device: str
    runner: str
    isolation: str
    problem_version: int
    submitter: str
    submission: str | None
    source_commit: str
    accepted_at: datetime | None
    is_baseline: bool
    speedup: Interval | None
    t_ns_geomean: float | None
    sol_fraction: float | None
    processes: int
    cases: tuple[CaseFigures, ...]
    rank: int | None
    is_tied: bool
    why_not_ranked: str
    why_not_ranked_code: str


@dataclass(frozen=True)
class HistoryPoint:
    """One accepted measuring, oldest first in a history; `is_record`: above all before it on its board."""

    kernel_id: str
    accepted_at: datetime
    speedup: Interval | None
    commit: str
    source_commit: str
    submission: str | None
    problem_version: int
    device: str
    is_record: bool


def standing(
    kernel: Kernel, yardstick: Yardstick | None, rank: int | None = None, is_tied: bool = False
) -> Standing:
    """Return the kernel as a row of the ranking by `yardstick`, where it has `rank`."""
    bench, description = kernel.bench, kernel.description
    cases = tuple(case_figures(case) for case in bench.get("cases", ()))
    hurdle = obstacle(kernel.as_entry(), yardstick)
    return Standing(
        kernel_id=kernel.kernel_id,
        board_id=kernel.board_id,
        problem_id=kernel.problem_id,
        arch=kernel.arch,
        name=kernel.name,
        title=kernel.title,
        summary=str(description.get("summary", "")),
        status=kernel.status,
        evidence=kernel.evidence,
        language=kernel.language,
        harness=str(description.get("harness", "")),
        mode=str(bench.get("mode", "")),
        device=kernel.device,
        runner=str(bench.get("runner", {}).get("name", "")),
        isolation=kernel.isolation,
        problem_version=kernel.problem_version,
        submitter=kernel.submitter,
        submission=str(kernel.submission) if kernel.submission else None,
        source_commit=kernel.source_commit,
        accepted_at=kernel.accepted_at,
        is_baseline=kernel.is_baseline,
        speedup=kernel.interval,
        t_ns_geomean=_geomean(case.t_ns.value if case.t_ns else None for case in cases),
        sol_fraction=_geomean(case.sol_fraction for case in cases),
        processes=int(bench.get("processes", 0)),
        cases=cases,
        rank=rank,
        is_tied=is_tied,
        why_not_ranked=hurdle.text if hurdle else "",
        why_not_ranked_code=hurdle.code if hurdle else "",
    )


def case_figures(case: Mapping[str, Any]) -> CaseFigures:
    """Read one case of a bench_result."""
    return CaseFigures(
        case_id=str(case["id"]),
        t_ns=interval_of(case.get("t_ns")),
        base_t_ns=interval_of(case.get("base_t_ns")),
        speedup=interval_of(case.get("speedup")),
        achieved_gbs=case.get("achieved_gbs"),
        achieved_gflops=case.get("achieved_gflops"),
        sol_fraction=case.get("sol_fraction"),
        max_scaled_error=case.get("max_scaled_error"),
    )


def interval_of(document: Mapping[str, float] | None) -> Interval | None:
    return Interval.from_json(document) if document else None


def history(points: QuerySet[BenchPoint]) -> tuple[HistoryPoint, ...]:
    """Return the points in their order; read as plain values, since a history can be long. One query."""
    return tuple(_history_point(*values) for values in points.values_list(*_POINT_COLUMNS))


_POINT_COLUMNS = (
    "kernel_id", "accepted_at", "speedup", "speedup_lo", "speedup_hi", "commit", "source_commit", "submission",
    "problem_version", "device", "is_record",
)  # fmt: skip


def _history_point(
    kernel_id: str, accepted_at: datetime, value: float | None, lo: float | None, hi: float | None, *rest: Any
) -> HistoryPoint:
    commit, source_commit, submission, problem_version, device, is_record = rest
    return HistoryPoint(
        kernel_id=kernel_id,
        accepted_at=accepted_at,
        speedup=None if value is None or lo is None or hi is None else Interval(value, lo, hi),
        commit=commit,
        source_commit=source_commit,
        submission=str(submission) if submission else None,
        problem_version=problem_version,
        device=device,
        is_record=is_record,
    )


def _geomean(values: Iterable[float | None]) -> float | None:
    logs = []
    for value in values:
        if value is None or value <= 0:
            return None
        logs.append(math.log(value))
    return math.exp(sum(logs) / len(logs)) if logs else None
