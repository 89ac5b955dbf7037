"""What pages and API show of one submission: its walk as steps, its place in the queue, its runs, its rank.

What is shown of a finished one comes from its records alone, so that it reads the same after a rebuild.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from leaderboard.models import Kernel, Problem
from leaderboard.queue_place import QueuePlace, queue_place
from leaderboard.ranking import obstacle, yardstick_of
from leaderboard.run_detail import RunView, run_of_row
from leaderboard.standing import interval_of
from leaderboard.walk import Step, walk_steps
from submissions.evaluation.statistics import Interval
from submissions.kernel_package.names import BASELINE_NAME
from submissions.models import Event, Mode, RunState, State, Submission


@dataclass(frozen=True)
class SubmissionView:
    """One submission; `event_id` is the newest event seen, for a page that waits for the next."""

    uuid: str
    kernel_id: str
    board_id: str
    arch: str
    submitter: str
    submitter_is_verified: bool
    mode: str
    message: str
    state: str
    is_terminal: bool
    code: str
    reason: str
    details: Mapping[str, Any]
    decision: Mapping[str, Any] | None
    speedup: Interval | None
    versus_incumbent: Interval | None
    package_sha256: str
    package_bytes: int
    tree_digest: str
    received_at: datetime
    finished_at: datetime | None
    steps: tuple[Step, ...]
    queue: QueuePlace | None
    runs: tuple[RunView, ...]
    rank: int | None
    is_tied: bool
    why_not_ranked: str
    why_not_ranked_code: str
    event_id: int

    @property
    def current_run(self) -> RunView | None:
        """Return the run that is on, or the last one."""
        return self.runs[-1] if self.runs else None


def submission_view(uuid: UUID | str) -> SubmissionView | None:
    """Return one submission, or None where there is none. At most ten queries."""
    submission = Submission.objects.filter(uuid=uuid).first()
    if submission is None:
        return None
    rows = list(submission.runs.order_by("number", "queued_at"))
    runs = tuple(run_of_row(row) for row in rows)
    events = list(_state_events(submission))
    newest = Event.objects.filter(submission=submission).order_by("-id").values_list("id", flat=True).first()
    waiting = next((row for row in rows if row.state == RunState.QUEUED), None)
    kernel = Kernel.objects.filter(kernel_id=submission.kernel_id, submission=submission.uuid).first()
    code, text = _why_not_ranked(submission, kernel)
    decision = submission.decision or {}
    return SubmissionView(
        uuid=str(submission.uuid),
        kernel_id=submission.kernel_id,
        board_id=submission.board_id,
        arch=submission.arch,
        submitter=submission.submitter,
        submitter_is_verified=submission.submitter_is_verified,
        mode=submission.mode,
        message=submission.message,
        state=submission.state,
        is_terminal=submission.is_terminal,
        code=submission.code,
        reason=submission.reason,
        details=submission.details,
        decision=submission.decision,
        speedup=interval_of(decision.get("speedup")),
        versus_incumbent=interval_of(decision.get("versus_incumbent")),
        package_sha256=submission.package_sha256,
        package_bytes=submission.package_bytes,
        tree_digest=submission.tree_digest,
        received_at=submission.received_at,
        finished_at=submission.finished_at,
        steps=walk_steps(submission, runs, events),
        queue=queue_place(waiting) if waiting else None,
        runs=runs,
        rank=kernel.rank if kernel else None,
        is_tied=kernel.is_tied if kernel else False,
        why_not_ranked=text,
        why_not_ranked_code=code,
        event_id=newest or 0,
    )


def _state_events(submission: Submission) -> QuerySet[Event]:
    return Event.objects.filter(submission=submission, kind="state").order_by("id")


def _why_not_ranked(submission: Submission, kernel: Kernel | None) -> tuple[str, str]:
    if submission.state == State.PUBLISHED:
        return _why_published_is_not_ranked(submission, kernel)
    if submission.is_terminal and submission.state != State.CHECKED:
        return submission.code, submission.reason
    if submission.mode != Mode.RANKED:
        return "rank:mode", f"it was sent with mode {submission.mode!r}; only mode 'ranked' can reach the board"
    if submission.state == State.HELD:
        return "rank:held", "it was measured, but a finding waits for a person to look at it"
    return "rank:not-finished", f"it is {submission.state}: the walk to the board is not over yet"


def _why_published_is_not_ranked(submission: Submission, kernel: Kernel | None) -> tuple[str, str]:
    if kernel is None:
        return "rank:superseded", f"a later version stands under {submission.kernel_id}"
    if kernel.rank is not None:
        return "", ""
    problem = Problem.objects.filter(problem_id=kernel.problem_id).first()
    baseline = Kernel.objects.filter(board_id=kernel.board_id, name=BASELINE_NAME).first()
    yardstick = yardstick_of(baseline.as_entry() if baseline else None, problem.version if problem else 0)
    hurdle = obstacle(kernel.as_entry(), yardstick)
    return (hurdle.code, hurdle.text) if hurdle else ("", "")
