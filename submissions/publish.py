"""Steps 9 to 11: decide on what was measured; prepare the commits out of sight; advance main and ledger at once.

The incumbent is read from the store, never from the mirror. Where it is no longer the one that was
measured against, the submission is measured again.
"""

import json
import logging
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone

from submissions import spool
from submissions.board import Board, board_of
from submissions.ending import conclude, enter, follow_ledger
from submissions.evaluation.bench_result import bench_result
from submissions.evaluation.decision import Standing, before_any_run, decide
from submissions.kernel_package.errors import Broken
from submissions.kernel_package.strict_yaml import dump_yaml
from submissions.kernel_store.publication import Moved, Prepared, Publication
from submissions.ledger import accepted_entry, decision_record_of, trailers_of
from submissions.lifecycle import mark_ending
from submissions.models import Run, RunKind, RunState, State, Submission
from submissions.scheduling import schedule_run
from submissions.signals import store_advanced
from submissions.store import reader, writer

logger = logging.getLogger(__name__)

# Another writer may move main between our look and our advance; then all of it is done anew.
_TRIES = 5

_RUN_NAME = re.compile(r"run-(\d+)\.json")


def publish(submission_id: UUID) -> None:
    """Bring a measured submission to its decision, and the decision into the store. Idempotent."""
    for _ in range(_TRIES):
        with writer().exclusive():
            submission = Submission.objects.in_state(State.MEASURED).filter(pk=submission_id).first()
            if submission is None:
                return
            settle_pending(str(submission_id))
            if follow_ledger(submission):
                return
            try:
                _publish(submission)
                return
            except Moved:
                continue
    logger.warning("main moved %d times under the publishing of %s; recovery goes on", _TRIES, submission_id)


def settle_pending(uuid: str = "") -> tuple[int, int]:
    """Finish or drop what a crash left prepared, of one submission or of all; return how many of each.

    What was prepared is finished only while its decision would still be the same.
    """
    finished = dropped = 0
    store = writer()
    with store.exclusive():
        for prepared in store.pending():
            if uuid in ("", prepared.uuid):
                is_finished = _finish(prepared)
                finished, dropped = finished + is_finished, dropped + (not is_finished)
    return finished, dropped


def _finish(prepared: Prepared) -> bool:
    store = writer()
    try:
        if store.is_published(prepared) or _still_holds(prepared):
            store.advance(prepared)
            for row in Submission.objects.in_state(State.MEASURED).filter(pk=prepared.uuid):
                follow_ledger(row)
            store_advanced.send_robust(sender=Submission)
            return True
    except Moved:
        pass
    store.drop(prepared.uuid)
    return False


def _still_holds(prepared: Prepared) -> bool:
    if not prepared.is_complete:
        return False
    row = Submission.objects.filter(pk=prepared.uuid).first()
    if row is not None and (row.state != State.MEASURED or row.ending):
        return False
    store = reader()
    records = dict(store.ledger_entries(prepared.ledger_old, prepared.ledger_new))[prepared.uuid]
    sitting = _last_run(records)
    board = board_of(store, sitting["kernel_id"], prepared.main_old)
    return not _is_outdated(board, sitting, board.rival())


def _last_run(records: Mapping[str, bytes]) -> Mapping[str, Any]:
    numbers = [int(found[1]) for name in records if (found := _RUN_NAME.fullmatch(name))]
    record: dict[str, Any] = json.loads(records[f"run-{max(numbers)}.json"])
    return record


def _publish(submission: Submission) -> None:
    board = board_of(reader(), submission.kernel_id)
    run = _sitting(submission)
    rival = board.rival()
    record = _deciding_record(submission, run)
    decision = before_any_run(record["contestants"]["candidate"], rival)
    if decision is None and _is_outdated(board, record, rival):
        schedule_run(submission, board.problem().problem.version, State.MEASURED)
        return
    decision = decision or decide(record, board.problem().problem.weights, rival)
    decided_at = timezone.now()
    document = decision_record_of(submission, run, decision, rival, decided_at)
    told = {"code": decision.code, "reason": decision.message, "decision": document, "finished_at": decided_at}
    if decision.is_accepted:
        _accept(submission, board, run, told)
    elif mark_ending(submission.pk, State.MEASURED, State.DECLINED, **told):
        conclude(submission.pk)


def _sitting(submission: Submission) -> Run:
    runs = submission.runs.filter(kind=RunKind.MEASURE, state=RunState.FINISHED).exclude(record=None)
    run = runs.order_by("-number").first()
    if run is None:
        raise Broken("publish:no-sitting", f"submission {submission.pk} is measured, but has no measuring")
    return run


def _deciding_record(submission: Submission, run: Run) -> Mapping[str, Any]:
    record: dict[str, Any] = run.record or {}
    if not submission.is_hold_released:
        return record
    kept = {name: value for name, value in record["details"].items() if name != "integrity"}
    return {**record, "details": kept}


def _is_outdated(board: Board, record: Mapping[str, Any], rival: Standing | None) -> bool:
    """True where main has another problem version, baseline or incumbent than the sitting had."""
    contestants = record["contestants"]
    baseline = board.baseline()
    return (
        record["problem_version"] != board.problem().problem.version
        or (baseline is not None and contestants["baseline"] != baseline.digest)
        or (rival is not None and contestants["incumbent"] != rival.digest)
    )


def _accept(submission: Submission, board: Board, run: Run, told: Mapping[str, Any]) -> None:
    submission.finished_at = told["finished_at"]
    store = writer()
    prepared = store.prepare(_publication(submission, board, run, told["decision"]))
    if prepared.main_old != board.commit:
        # Main moved after the decision was made on it: the decision must be made again.
        store.drop(prepared.uuid)
        raise Moved("main moved between the decision and its commits")
    store.advance(prepared)
    enter(submission.pk, State.ACCEPTED, **told)


def _publication(submission: Submission, board: Board, run: Run, decision: Mapping[str, Any]) -> Publication:
    package = board.complete(spool.package_bytes(submission.pk))
    present = board.present()
    is_on_main = present is not None and present.digest == package.digest
    previous = board.bench_result()
    figures = decision["speedup"]

    def make_bench(source_commit: str) -> bytes:
        problem = board.problem().problem
        submitter = submission.submitter
        document = bench_result(run.record or {}, problem, str(submission.pk), submitter, source_commit, previous)
        return dump_yaml(document)

    return Publication(
        uuid=str(submission.pk),
        received_at=submission.received_at,
        kernel_id=board.kernel_id,
        package_files=None if is_on_main else package.files,
        make_bench=make_bench,
        ledger=accepted_entry(submission, decision, package.files),
        speedup_text=f"{figures['value']:.4g}× [{figures['lo']:.4g}, {figures['hi']:.4g}]",
        summary=submission.message,
        trailers=trailers_of(submission, [run]),
        committed_at=submission.finished_at,
    )
