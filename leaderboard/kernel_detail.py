"""What pages and API show of one kernel: its figures, place, history, parents and attempts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leaderboard.models import BenchPoint, Kernel, Problem
from leaderboard.ranking import yardstick_of
from leaderboard.standing import HistoryPoint, Standing, history, standing
from submissions.kernel_package.names import BASELINE_NAME
from submissions.models import Submission

ATTEMPTS_SHOWN = 50


@dataclass(frozen=True)
class Attempt:
    """One submission under the kernel's name, whatever became of it."""

    uuid: str
    submitter: str
    mode: str
    state: str
    code: str
    reason: str
    received_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True)
class KernelView:
    """One kernel; `history` is oldest first, `attempts` newest first, `parent` as its description names it."""

    standing: Standing
    problem_title: str
    problem: Mapping[str, Any]
    description: Mapping[str, Any]
    bench: Mapping[str, Any]
    tree_digest: str
    bench_commit: str
    history: tuple[HistoryPoint, ...]
    parent: str
    children: tuple[str, ...]
    attempts: tuple[Attempt, ...]


def kernel_view(kernel_id: str) -> KernelView | None:
    """Return one kernel, or None where the mirror has none. Six queries."""
    kernel = Kernel.objects.filter(kernel_id=kernel_id).first()
    if kernel is None:
        return None
    problem = Problem.objects.get(problem_id=kernel.problem_id)
    baseline = Kernel.objects.filter(board_id=kernel.board_id, name=BASELINE_NAME).first()
    yardstick = yardstick_of(baseline.as_entry() if baseline else None, problem.version)
    children = Kernel.objects.filter(parent=kernel_id).values_list("kernel_id", flat=True)
    return KernelView(
        standing=standing(kernel, yardstick, kernel.rank, kernel.is_tied),
        problem_title=problem.title,
        problem=problem.document,
        description=kernel.description,
        bench=kernel.bench,
        tree_digest=kernel.tree_digest,
        bench_commit=kernel.bench_commit,
        history=history(BenchPoint.objects.filter(kernel_id=kernel_id)),
        parent=kernel.parent,
        children=tuple(children),
        attempts=_attempts(kernel_id),
    )


def _attempts(kernel_id: str) -> tuple[Attempt, ...]:
    found = Submission.objects.filter(kernel_id=kernel_id)[:ATTEMPTS_SHOWN]
    return tuple(
        Attempt(
            uuid=str(each.uuid),
            submitter=each.submitter,
            mode=each.mode,
            state=each.state,
            code=each.code,
            reason=each.reason,
            received_at=each.received_at,
            finished_at=each.finished_at,
        )
        for each in found
    )
