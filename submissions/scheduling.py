"""Step 3: a Run for what waits; and the way back into the queue after a fault of ours."""

import re
from collections.abc import Mapping
from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from submissions.kernel_package.names import KernelId
from submissions.lifecycle import advance_state
from submissions.models import Mode, Run, RunKind, RunState, State, Submission
from submissions.signals import run_queued

# A check needs the outputs of one process; ranked figures need the interval over five.
PROCESSES: Mapping[str, int] = {Mode.CHECK: 1, Mode.BENCHMARK: 3, Mode.RANKED: 5}

CANARY_PRIORITY = 100

_CUDA_ARCH = re.compile(r"sm_\d+[a-z]?")


def schedule_run(submission: Submission, problem_version: int, old: State) -> Run | None:
    """Queue the submission's next run and move it from `old` to queued; None where it moved on meanwhile."""
    with transaction.atomic():
        if not advance_state(submission.pk, old, State.QUEUED):
            return None
        run = Run.objects.create(
            submission=submission,
            number=submission.runs.count() + 1,
            kind=next_kind(submission),
            kernel_id=submission.kernel_id,
            arch=submission.arch,
            problem_version=problem_version,
            queued_at=timezone.now(),
        )
        tell_queued(run)
    return run


def next_kind(submission: Submission) -> RunKind:
    """Return what the submission's next run does.

    On a CUDA board a dry run precedes the real one; a mere check ends with it.
    """
    is_dry_run_done = submission.runs.filter(kind=RunKind.DRY_RUN, state=RunState.FINISHED).exists()
    if _CUDA_ARCH.fullmatch(submission.arch) and not is_dry_run_done:
        return RunKind.DRY_RUN
    return RunKind.CHECK if submission.mode == Mode.CHECK else RunKind.MEASURE


def schedule_canary(failed: Run) -> Run:
    """Queue the baseline of a failed run's board against itself, before all that waits.

    It belongs to no submission and nothing of it is published: it shows whether a runner is sound.
    """
    with transaction.atomic():
        canary = Run.objects.create(
            # A runner without the board's device emulates it, in dry runs only.
            kind=RunKind.DRY_RUN if failed.kind == RunKind.DRY_RUN else RunKind.RECHECK,
            kernel_id=str(KernelId.parse(failed.kernel_id).board.baseline),
            arch=failed.arch,
            problem_version=failed.problem_version,
            priority=CANARY_PRIORITY,
            queued_at=timezone.now(),
        )
        tell_queued(canary)
    return canary


def requeue(run: Run, message: str) -> bool:
    """Put a leased run back for its next attempt, after a fault of ours; False where its lease is gone."""
    with transaction.atomic():
        held = Run.objects.filter(pk=run.pk, state=RunState.LEASED, epoch=run.epoch, is_cancel_requested=False)
        is_freed = held.update(
            state=RunState.QUEUED,
            attempt=run.attempt + 1,
            message=message,
            stage="",
            progress=0.0,
            incumbent_commit="",
            incumbent_digest="",
        )
        if is_freed and run.submission_id is not None:
            advance_state(run.submission_id, State.RUNNING, State.QUEUED)
        if is_freed:
            tell_queued(run)
    return bool(is_freed)


def tell_queued(run: Run) -> None:
    """Send the hint that a run waits, once its row is committed."""
    transaction.on_commit(partial(_send_queued, run.pk, run.arch, run.kind))


def _send_queued(run_id: UUID, arch: str, kind: str) -> None:
    run_queued.send_robust(sender=Run, run_id=run_id, arch=arch, kind=kind)
