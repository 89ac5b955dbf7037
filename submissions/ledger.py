"""What the walk writes into the ledger, made from the rows: records, and entries of finished submissions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from submissions import artifacts, spool
from submissions.evaluation.canonical import canonical_json
from submissions.evaluation.decision import Decision, Standing
from submissions.evaluation.records import (
    Ending,
    RunFacts,
    RunnerFacts,
    SubmissionFacts,
    decision_record,
    run_record,
    submission_record,
)
from submissions.kernel_package.errors import Broken, Rejected
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.package import read_package
from submissions.kernel_store.publication import LedgerEntry
from submissions.models import Run, State, Submission

SUBMISSION = "submission.json"
DECISION = "decision.json"


def run_record_of(
    run: Run, result: Mapping[str, Any], runner: Mapping[str, Any], finished_at: datetime
) -> dict[str, Any]:
    """Return a run's record from its result; the whole log and the samples become artifacts.

    Raises Broken `record:invalid`.
    """
    facts = RunFacts(
        uuid=str(run.pk),
        kind=run.kind,
        kernel_id=KernelId.parse(run.kernel_id),
        problem_version=run.problem_version,
        finished_at=finished_at,
        submission=str(run.submission_id) if run.submission_id else None,
        mode=run.submission.mode if run.submission else "benchmark",
        attempt=run.attempt,
        epoch=run.epoch,
        runner=RunnerFacts(**runner),
        artifacts=_kept(result),
    )
    return run_record(result, facts)


def _kept(result: Mapping[str, Any]) -> dict[str, str]:
    """Keep what is too big for a record; return the digest of each."""
    contents = {name: result[name].encode("utf-8", "replace") for name in ("log", "samples")}
    return {name: artifacts.keep(content) for name, content in contents.items() if content}


def decision_record_of(
    submission: Submission, run: Run | None, decision: Decision, standing: Standing | None, decided_at: datetime
) -> dict[str, Any]:
    """Return the record of a decision on a submission, after its sitting or before any."""
    kernel_id = KernelId.parse(submission.kernel_id)
    run_id = str(run.pk) if run else None
    return decision_record(decision, str(submission.pk), run_id, kernel_id, standing, decided_at)


def ending_entry(submission: Submission) -> LedgerEntry:
    """Return what the ledger gets of a submission whose end is decided; the source too, unless it was rejected."""
    source = None if submission.ending == State.REJECTED else _source(submission)
    return _entry(submission, submission.ending, submission.decision, source)


def accepted_entry(submission: Submission, decision: Mapping[str, Any], files: Mapping[str, bytes]) -> LedgerEntry:
    """Return what the ledger gets of a submission that goes on to main."""
    return _entry(submission, State.ACCEPTED, decision, files)


def run_entry(run: Run) -> LedgerEntry:
    """Return what the ledger gets of a finished run that belongs to no submission."""
    if run.record is None:
        raise Broken("ledger:no-record", f"run {run.pk} has no record")
    return LedgerEntry(
        uuid=str(run.pk),
        received_at=run.queued_at,
        records={"run-1.json": canonical_json(run.record)},
        source=None,
        subject=f"{run.kind}: {run.kernel_id} {run.verdict}",
        trailers={"Zoo-Run": str(run.pk), "Zoo-Runner": run.runner_name},
    )


def trailers_of(submission: Submission, runs: list[Run]) -> dict[str, str]:
    """Return the trailers that make a submission's commits machine-readable."""
    trailers = {"Zoo-Submission": str(submission.pk), "Zoo-Submitter": submission.submitter}
    if runs:
        trailers |= {"Zoo-Runner": runs[-1].runner_name, "Zoo-Run": str(runs[-1].pk)}
    return trailers


def recorded_runs(submission: Submission) -> list[Run]:
    """Return the submission's runs that a runner worked on, in order."""
    return list(submission.runs.exclude(record=None).order_by("number"))


def _entry(
    submission: Submission, state: str, decision: Mapping[str, Any] | None, source: Mapping[str, bytes] | None
) -> LedgerEntry:
    runs = recorded_runs(submission)
    records: dict[str, Any] = {f"run-{run.number}.json": run.record for run in runs}
    records[SUBMISSION] = _submission_record(submission, state, runs, decision)
    if decision is not None:
        records[DECISION] = decision
    return LedgerEntry(
        uuid=str(submission.pk),
        received_at=submission.received_at,
        records={name: canonical_json(record) for name, record in records.items()},
        source=source,
        subject=f"{state}: {submission.kernel_id}",
        trailers=trailers_of(submission, runs),
    )


def _submission_record(
    submission: Submission, state: str, runs: list[Run], decision: Mapping[str, Any] | None
) -> dict[str, Any]:
    facts = SubmissionFacts(
        uuid=str(submission.pk),
        kernel_id=submission.kernel_id,
        submitter=submission.submitter,
        submitter_is_verified=submission.submitter_is_verified,
        mode=submission.mode,
        message=submission.message,
        package_sha256=submission.package_sha256,
        package_bytes=submission.package_bytes,
        received_at=submission.received_at,
        tree_digest=submission.tree_digest,
        problem_version=runs[-1].problem_version if runs else None,
        idempotency_key=submission.idempotency_key,
    )
    told = decision or {"code": submission.code, "message": submission.reason}
    if submission.finished_at is None:
        raise Broken("record:unfinished", f"submission {submission.pk} has no end to record yet")
    ending = Ending(
        state=state,
        code=told["code"],
        reason=told["message"],
        finished_at=submission.finished_at,
        details=submission.details,
        runs=tuple(str(run.pk) for run in runs),
    )
    return submission_record(facts, ending)


def _source(submission: Submission) -> Mapping[str, bytes] | None:
    # As sent, with the generated scripts: what was built. An end that we are at fault for may have lost it.
    try:
        return read_package(spool.package_bytes(submission.pk), KernelId.parse(submission.kernel_id)).files
    except (Broken, Rejected):
        return None
