"""The ledger as rows: restores the submissions and runs that SQL lacks; what it has is left alone."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.reading import StoreReader
from submissions.models import Run, RunState, State, Submission

_ENTRIES_AT_ONCE = 400

T = TypeVar("T")


@dataclass(frozen=True)
class Finished:
    """One ledger entry as rows; a sweep or recheck has no submission."""

    submission: Submission | None
    runs: Sequence[Run]


def follow_ledger(reader: StoreReader, old: str, new: str) -> None:
    """Restore what the ledger gained from `old` ("": all of it), some entries per transaction."""
    for batch in _batches(finished_entries(reader, old, new), _ENTRIES_AT_ONCE):
        with transaction.atomic():
            _restore(batch)


def finished_entries(reader: StoreReader, old: str, new: str) -> Iterator[Finished]:
    """Yield the entries of the ledger as rows that are not saved; raises Broken `mirror:ledger`."""
    for uuid, files in reader.ledger_entries(old, new):
        try:
            yield finished_rows(files)
        except (ValueError, KeyError, TypeError) as error:
            message = f"the ledger's entry {uuid} can't be read: {type(error).__name__} {error}"
            raise Broken("mirror:ledger", message, uuid=str(uuid)) from error


def finished_rows(files: Mapping[str, bytes]) -> Finished:
    """Return an entry's records as rows; raises ValueError, KeyError or TypeError on records that are not ours."""
    records = {name: json.loads(content) for name, content in files.items() if name.endswith(".json")}
    submission = None
    if "submission.json" in records:
        submission = _submission(records["submission.json"], records.get("decision.json"))
    runs = {
        int(name.removeprefix("run-").removesuffix(".json")): record
        for name, record in records.items()
        if name.startswith("run-")
    }
    return Finished(submission, [_run(number, runs[number], submission) for number in sorted(runs)])


def _submission(record: Mapping[str, Any], decision: Mapping[str, Any] | None) -> Submission:
    state = State(record["state"])
    return Submission(
        uuid=UUID(record["uuid"]),
        kernel_id=record["kernel_id"],
        submitter=record["submitter"],
        submitter_is_verified=record["submitter_is_verified"],
        mode=record["mode"],
        message=record["message"],
        idempotency_key=record.get("idempotency_key", ""),
        package_sha256=record["package_sha256"],
        package_bytes=record["package_bytes"],
        tree_digest=record["tree_digest"] or "",
        # An accepted one is in the ledger only together with main: once mirrored it is published.
        state=State.PUBLISHED if state == State.ACCEPTED else state,
        code=record["code"],
        reason=record["reason"],
        details=record["details"],
        decision=dict(decision) if decision else None,
        received_at=datetime.fromisoformat(record["received_at"]),
        finished_at=datetime.fromisoformat(record["finished_at"]),
    )


def _run(number: int, record: Mapping[str, Any], submission: Submission | None) -> Run:
    finished_at = datetime.fromisoformat(record["finished_at"])
    return Run(
        uuid=UUID(record["uuid"]),
        submission=submission,
        number=number,
        kind=record["kind"],
        kernel_id=record["kernel_id"],
        arch=record["kernel_id"].split("/", 1)[0],
        problem_version=record["problem_version"],
        state=RunState.FINISHED,
        attempt=record["attempt"],
        epoch=record["epoch"],
        stage=record["stage"],
        runner_name=record["runner"]["name"],
        verdict=record["verdict"],
        code=record["code"],
        message=record["message"],
        record=dict(record),
        log=record.get("log", ""),
        progress=1.0,
        is_in_ledger=True,
        queued_at=submission.received_at if submission else finished_at,
        finished_at=finished_at,
    )


def _restore(entries: Sequence[Finished]) -> None:
    submissions = [entry.submission for entry in entries if entry.submission]
    runs = [run for entry in entries for run in entry.runs]
    known = Submission.objects.in_bulk([submission.uuid for submission in submissions])
    there = set(Run.objects.filter(uuid__in=[run.uuid for run in runs]).values_list("uuid", flat=True))
    Submission.objects.bulk_create([each for each in submissions if each.uuid not in known])
    Run.objects.bulk_create([run for run in runs if run.uuid not in there])


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
