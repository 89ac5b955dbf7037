"""The front page's arrangement: boards by op class on one axis, the latest records, what runs now."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Count, Q

from leaderboard.board import BoardSummary, HistoryPoint
from leaderboard.models import Kernel, Problem
from leaderboard.svg import Scale, scale_over
from submissions.kernel_package.names import BASELINE_NAME
from submissions.models import Run, RunState

RECORDS_SHOWN = 6
RUNS_SHOWN = 6


@dataclass(frozen=True)
class OpClass:
    """The boards of one op class, in the order of their names."""

    name: str
    boards: tuple[BoardSummary, ...]


@dataclass(frozen=True)
class Counts:
    """The size of what is shown."""

    boards: int
    kernels: int
    measured: int


@dataclass(frozen=True)
class Now:
    """What the runners do: `runs` are the running ones, the longest first."""

    runs: tuple[Run, ...]
    running: int
    waiting: int


def by_op_class(boards: Sequence[BoardSummary], text: str = "") -> tuple[OpClass, ...]:
    """Return the boards whose name or title holds `text`, grouped by op class."""
    wanted = text.casefold()
    found = [board for board in boards if wanted in f"{board.board_id} {board.title}".casefold()]
    found.sort(key=lambda board: (board.op_class, board.problem_id, board.arch))
    return tuple(OpClass(name, tuple(each)) for name, each in groupby(found, key=lambda board: board.op_class))


def common_scale(groups: Sequence[OpClass]) -> Scale | None:
    """Return one axis for every bar of the page, so that lengths compare."""
    return scale_over(board.best.speedup for group in groups for board in group.boards if board.best)


def counts(boards: Sequence[BoardSummary]) -> Counts:
    return Counts(len(boards), sum(board.kernels for board in boards), sum(board.measured for board in boards))


def latest_records(boards: Sequence[BoardSummary]) -> tuple[HistoryPoint, ...]:
    """Return the newest records of any board; a baseline's own measuring is none."""
    points = [point for board in boards for point in board.records if not _is_baseline(point)]
    return tuple(sorted(points, key=lambda point: point.accepted_at, reverse=True)[:RECORDS_SHOWN])


def _is_baseline(point: HistoryPoint) -> bool:
    return point.kernel_id.rsplit("/", 1)[-1] == BASELINE_NAME


def running_now() -> Now:
    """Return the running runs and how many wait; two queries."""
    tally = Run.objects.aggregate(
        running=Count("pk", Q(state=RunState.LEASED)), waiting=Count("pk", Q(state=RunState.QUEUED))
    )
    runs = Run.objects.leased().order_by("started_at").defer("record", "log")[:RUNS_SHOWN]
    return Now(tuple(runs), tally["running"], tally["waiting"])


def archs() -> tuple[str, ...]:
    """Return every arch that has a board."""
    return tuple(Kernel.objects.order_by("arch").values_list("arch", flat=True).distinct())


def op_classes() -> tuple[str, ...]:
    """Return every op class that has a problem."""
    names = Problem.objects.values_list("problem_id", flat=True)
    return tuple(dict.fromkeys(name.split("/", 1)[0] for name in names))
