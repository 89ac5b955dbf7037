"""Step 8: take a run's result, once: measured, back into the queue, or the end that the verdict asks for."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from submissions import tasks
from submissions.evaluation.decision import integrity_findings, why_not_for_decision
from submissions.evaluation.records import empty_result
from submissions.evaluation.verdicts import MAX_ATTEMPTS, Verdict
from submissions.kernel_package.errors import Broken
from submissions.ledger import run_record_of
from submissions.lifecycle import advance_state, mark_ending
from submissions.models import Mode, Run, RunKind, RunState, State, Submission
from submissions.scheduling import requeue, schedule_run
from submissions.vetting import vetted

_AT_WORK = (State.QUEUED, State.RUNNING)


def record_result(run_id: UUID, epoch: int, result: Mapping[str, Any], runner: Mapping[str, Any]) -> bool:
    """Take the result of one lease of a run; False where the run is no longer leased under that epoch.

    `result` is a runner's Result as JSON, `runner` says who made it: name, device, isolation, driver.
    The caller holds the lease, and ends it in the same transaction. A run takes one result, ever.
    """
    with transaction.atomic():
        run = _locked(run_id, epoch)
        if run is None or run.state != RunState.LEASED:
            return run is not None and run.state == RunState.FINISHED
        _settle(run, vetted(run, result), runner)
    return True


def run_lost(run_id: UUID, epoch: int, message: str, code: str = "run:runner-lost") -> bool:
    """Take it that a leased run brings no result: its runner is gone, or could not be given what it needs."""
    with transaction.atomic():
        run = _locked(run_id, epoch)
        if run is None or run.state != RunState.LEASED:
            return False
        lost = empty_result(Verdict.RUNNER_LOST, code, message, stage=run.stage)
        _settle(run, lost, {"name": run.runner_name})
    return True


def _locked(run_id: UUID, epoch: int) -> Run | None:
    runs = Run.objects.select_for_update(of=("self",)).select_related("submission")
    return runs.filter(pk=run_id, epoch=epoch).first()


def _settle(run: Run, result: Mapping[str, Any], runner: Mapping[str, Any]) -> None:
    finished_at = timezone.now()
    try:
        record = run_record_of(run, result, runner, finished_at)
    except Broken as error:
        result = empty_result(Verdict.INFRA_ERROR, error.code, error.message)
        record = run_record_of(run, result, runner, finished_at)
    verdict = _verdict(run, result)
    if verdict.is_infra and run.attempt < MAX_ATTEMPTS and requeue(run, record["message"]):
        return
    if verdict == Verdict.CANCELLED:
        record |= {"code": "run:cancelled", "message": "cancelled while it ran"}
    record["verdict"] = str(Verdict.INFRA_ERROR if verdict.is_infra else verdict)
    Run.objects.filter(pk=run.pk, state=RunState.LEASED, epoch=run.epoch).update(
        state=RunState.FINISHED,
        verdict=record["verdict"],
        code=record["code"],
        message=record["message"],
        stage=record["stage"],
        progress=1.0,
        record=record,
        finished_at=finished_at,
    )
    if run.submission is None:
        transaction.on_commit(partial(tasks.enqueue_run_record, run.pk))
    else:
        _move_on(run, run.submission, Verdict(record["verdict"]), record)


def _verdict(run: Run, result: Mapping[str, Any]) -> Verdict:
    verdict = Verdict(result["verdict"])
    if run.is_cancel_requested:
        return Verdict.CANCELLED
    # A runner that stops a run nobody cancelled (a drain, a shutdown) owes it another try.
    return Verdict.RUNNER_LOST if verdict == Verdict.CANCELLED else verdict


def _move_on(run: Run, submission: Submission, verdict: Verdict, record: Mapping[str, Any]) -> None:
    why = {"code": record["code"], "reason": record["message"], "details": record["details"]}
    if verdict == Verdict.CANCELLED:
        _end(submission, State.CANCELLED, code="submission:cancelled", reason=record["message"])
    elif verdict.is_infra:
        _end(submission, State.ERRORED, **why)
    elif verdict.is_entrant_fault:
        _end(submission, State.FAILED, **why)
    elif run.kind == RunKind.DRY_RUN and submission.mode != Mode.CHECK:
        schedule_run(submission, run.problem_version, State.RUNNING)
    elif submission.mode != Mode.RANKED:
        _end(submission, State.CHECKED, **why)
    elif integrity_findings(record):
        advance_state(submission.pk, State.RUNNING, State.HELD, **why)
    elif reason := why_not_for_decision(record):
        _end(submission, State.CHECKED, code="run:not-rankable", reason=f"correct, but it can't rank: {reason}")
    elif advance_state(submission.pk, State.RUNNING, State.MEASURED, details=record["details"]):
        transaction.on_commit(partial(tasks.enqueue_publish, submission.pk))


def _end(submission: Submission, ending: State, **why: Any) -> None:
    if mark_ending(submission.pk, _AT_WORK, ending, **why):
        transaction.on_commit(partial(tasks.enqueue_conclude, submission.pk))
