"""What pages and API show of the boards: the overview and one board's ranking. Reads the mirror, never git."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Q, Window
from django.db.models.functions import RowNumber

from leaderboard.kernel_detail import KernelView, kernel_view
from leaderboard.models import BenchPoint, Kernel, Problem
from leaderboard.ranking import Yardstick, rank, yardstick_of
from leaderboard.standing import CaseFigures, HistoryPoint, Standing, history, standing
from leaderboard.submission_detail import SubmissionView, submission_view
from submissions.kernel_package.names import BASELINE_NAME

__all__ = [
    "BoardSummary",
    "BoardView",
    "CaseFigures",
    "HistoryPoint",
    "KernelView",
    "RankingTab",
    "Standing",
    "SubmissionView",
    "board_view",
    "boards_overview",
    "kernel_view",
    "submission_view",
]


RECORDS_SHOWN = 12


@dataclass(frozen=True)
class BoardSummary:
    """One board in the overview; `best` is the ranking's first, `device` is empty without a measured baseline.

    `records` are the newest ones, oldest first.
    """

    board_id: str
    arch: str
    problem_id: str
    op_class: str
    title: str
    problem_version: int
    device: str
    kernels: int
    measured: int
    best: Standing | None
    baseline: Standing | None
    leaders: tuple[Standing, ...]
    records: tuple[HistoryPoint, ...]
    last_accepted_at: datetime | None


@dataclass(frozen=True)
class RankingTab:
    """One ranking of a board: the kernels of one device and problem version, best first."""

    device: str
    problem_version: int
    is_main: bool
    rows: tuple[Standing, ...]


@dataclass(frozen=True)
class BoardView:
    """One board: the main ranking first, then one tab for every other device or version, then what has no rank."""

    board_id: str
    arch: str
    problem_id: str
    title: str
    problem_version: int
    problem: Mapping[str, Any]
    device: str
    tabs: tuple[RankingTab, ...]
    unranked: tuple[Standing, ...]
    baseline: Standing | None
    records: tuple[HistoryPoint, ...]
    sibling_boards: tuple[str, ...]

    @property
    def ranking(self) -> RankingTab | None:
        return self.tabs[0] if self.tabs and self.tabs[0].is_main else None

    @property
    def best(self) -> Standing | None:
        return self.ranking.rows[0] if self.ranking and self.ranking.rows else None


def boards_overview(arch: str = "", op_class: str = "") -> tuple[BoardSummary, ...]:
    """Return every board in the order of its name, with what leads it. Four queries, whatever the size."""
    chosen = _chosen(arch, op_class)
    problems = Problem.objects.in_bulk(field_name="problem_id")
    heads: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in Kernel.objects.filter(chosen).heads_of_boards():
        heads[kernel.board_id].append(kernel)
    records = _last_records(_of_boards(arch, op_class))
    counted = (
        Kernel.objects.filter(chosen)
        .order_by("board_id")
        .values("board_id", "arch", "problem_id")
        .annotate(
            kernels=Count("id"), measured=Count("id", Q(status="measured")), last_accepted_at=Max("accepted_at")
        )
    )
    return tuple(
        _summary(row, problems[row["problem_id"]], heads[row["board_id"]], records[row["board_id"]])
        for row in counted
        if row["problem_id"] in problems
    )


def board_view(board_id: str) -> BoardView | None:
    """Return one board with all its kernels, or None where the mirror has none. Four queries."""
    kernels = list(Kernel.objects.on_boards([board_id]))
    problem_id = board_id.partition("/")[2]
    problem = Problem.objects.filter(problem_id=problem_id).first()
    if problem is None or not kernels:
        return None
    yardstick = board_yardstick(kernels, problem.version)
    tabs, unranked = _tabs(kernels, yardstick)
    baseline = next((kernel for kernel in kernels if kernel.is_baseline), None)
    siblings = Kernel.objects.filter(problem_id=problem_id).order_by("board_id")
    return BoardView(
        board_id=board_id,
        arch=kernels[0].arch,
        problem_id=problem_id,
        title=problem.title,
        problem_version=problem.version,
        problem=problem.document,
        device=yardstick.device if yardstick else "",
        tabs=tabs,
        unranked=unranked,
        baseline=standing(baseline, yardstick, baseline.rank, baseline.is_tied) if baseline else None,
        records=history(BenchPoint.objects.filter(board_id=board_id, is_record=True)),
        sibling_boards=tuple(siblings.values_list("board_id", flat=True).distinct()),
    )


def board_yardstick(kernels: Iterable[Kernel], problem_version: int) -> Yardstick | None:
    """Return what a board ranks by, from its kernels."""
    baseline = next((kernel.as_entry() for kernel in kernels if kernel.name == BASELINE_NAME), None)
    return yardstick_of(baseline, problem_version)


def _chosen(arch: str, op_class: str) -> Q:
    chosen = Q()
    if arch:
        chosen &= Q(arch=arch)
    if op_class:
        chosen &= Q(problem_id__startswith=f"{op_class}/")
    return chosen


def _of_boards(arch: str, op_class: str) -> Q:
    chosen = Q()
    if arch:
        chosen &= Q(board_id__startswith=f"{arch}/")
    if op_class:
        chosen &= Q(board_id__contains=f"/{op_class}/")
    return chosen


def _last_records(boards: Q) -> dict[str, list[HistoryPoint]]:
    """Return the newest records of each board, oldest first: enough for a trend, however long the history is."""
    age = Window(RowNumber(), partition_by=F("board_id"), order_by=[F("accepted_at").desc(), F("id").desc()])
    newest = BenchPoint.objects.filter(boards, is_record=True).annotate(age=age).filter(age__lte=RECORDS_SHOWN)
    records: dict[str, list[HistoryPoint]] = defaultdict(list)
    for point in history(newest):
        records[point.kernel_id.rsplit("/", 1)[0]].append(point)
    return records


def _summary(
    row: Mapping[str, Any], problem: Problem, heads: Sequence[Kernel], records: Sequence[HistoryPoint]
) -> BoardSummary:
    yardstick = board_yardstick(heads, problem.version)
    rows = {kernel.kernel_id: standing(kernel, yardstick, kernel.rank, kernel.is_tied) for kernel in heads}
    leaders = tuple(
        rows[place.kernel_id]
        for place in rank((kernel.as_entry() for kernel in heads if kernel.rank == 1), yardstick)
    )
    baseline = next((kernel for kernel in heads if kernel.is_baseline), None)
    return BoardSummary(
        board_id=row["board_id"],
        arch=row["arch"],
        problem_id=row["problem_id"],
        op_class=row["problem_id"].split("/", 1)[0],
        title=problem.title,
        problem_version=problem.version,
        device=yardstick.device if yardstick else "",
        kernels=row["kernels"],
        measured=row["measured"],
        best=leaders[0] if leaders else None,
        baseline=rows[baseline.kernel_id] if baseline else None,
        leaders=leaders,
        records=tuple(records),
        last_accepted_at=row["last_accepted_at"],
    )


def _tabs(
    kernels: Sequence[Kernel], main: Yardstick | None
) -> tuple[tuple[RankingTab, ...], tuple[Standing, ...]]:
    by_id = {kernel.kernel_id: kernel for kernel in kernels}
    entries = [kernel.as_entry() for kernel in kernels]
    others = {Yardstick(entry.problem_version, entry.device) for entry in entries if entry.device} - {main}
    ordered = sorted(others, key=lambda each: (-each.problem_version, each.device))
    tabs, shown = [], set()
    for yardstick in [*([main] if main else []), *ordered]:
        places = rank(entries, yardstick)
        if not places:
            continue
        shown |= {place.kernel_id for place in places}
        rows = tuple(standing(by_id[place.kernel_id], yardstick, place.rank, place.is_tied) for place in places)
        tabs.append(RankingTab(yardstick.device, yardstick.problem_version, yardstick == main, rows))
    unranked = tuple(standing(by_id[key], main) for key in sorted(by_id) if key not in shown)
    return tuple(tabs), unranked
