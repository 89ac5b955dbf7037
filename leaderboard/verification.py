"""Does the mirror say what the store says? Builds it anew in a transaction that is rolled back, and compares."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Model

from leaderboard import index
from leaderboard.mirror_ledger import Finished, finished_entries
from leaderboard.mirror_lock import mirror_lock
from leaderboard.mirror_main import read_main, write_main
from leaderboard.models import BenchPoint, Kernel, MirrorState, Problem
from submissions import store
from submissions.kernel_store.reading import StoreReader
from submissions.models import TERMINAL_STATES, Run, RunState, Submission

_MIRRORED: tuple[tuple[type[Model], str], ...] = (
    (Problem, "problem_id"),
    (Kernel, "kernel_id"),
    (BenchPoint, "commit"),
)
_SUBMISSION_FIELDS = (
    "kernel_id",
    "submitter",
    "submitter_is_verified",
    "mode",
    "message",
    "package_sha256",
    "package_bytes",
    "tree_digest",
    "state",
    "code",
    "reason",
    "details",
    "decision",
    "received_at",
    "finished_at",
)
_RUN_FIELDS = (
    "submission_id",
    "number",
    "kind",
    "kernel_id",
    "arch",
    "problem_version",
    "verdict",
    "code",
    "message",
    "attempt",
    "record",
)
_ENTRIES_AT_ONCE = 400
_SHOWN_CHARACTERS = 100

Rows = Mapping[str, Mapping[str, Any]]


def differences() -> list[str]:
    """Return each difference between the mirror and the store in a line; none where they agree."""
    with mirror_lock():
        reader = store.reader()
        return [*_differences_of_main(reader), *_differences_of_ledger(reader)]


def _differences_of_main(reader: StoreReader) -> list[str]:
    head = reader.main_head()
    followed = MirrorState.objects.values_list("head", flat=True).first() or ""
    found = [] if followed == head else [f"MirrorState head: mirror {followed[:12] or 'none'}, store {head[:12]}"]
    path = Path(settings.INDEX_PATH)
    content = path.read_bytes() if path.exists() else b""
    with transaction.atomic():
        before = [_rows(model, key) for model, key in _MIRRORED]
        for model, _ in _MIRRORED:
            model._default_manager.all().delete()
        index.refresh(write_main(read_main(reader, "", head)))
        MirrorState.objects.update(head=head)
        after = [_rows(model, key) for model, key in _MIRRORED]
        rebuilt = index.index_bytes()
        transaction.set_rollback(True)
    for (model, _), mirrored, stored in zip(_MIRRORED, before, after, strict=True):
        found += _compare(model.__name__, mirrored, stored)
    if content != rebuilt:
        found.append(f"{path.name}: the file is not what the store gives")
    return found


def _differences_of_ledger(reader: StoreReader) -> list[str]:
    found: list[str] = []
    submissions: set[Any] = set()
    runs: set[Any] = set()
    batch: list[Finished] = []
    for entry in finished_entries(reader, "", reader.ledger_head()):
        submissions |= {entry.submission.uuid} if entry.submission else set()
        runs |= {run.uuid for run in entry.runs}
        batch.append(entry)
        if len(batch) == _ENTRIES_AT_ONCE:
            found += _compare_entries(batch)
            batch = []
    found += _compare_entries(batch)
    ended = Submission.objects.filter(state__in=TERMINAL_STATES).values_list("uuid", flat=True)
    found += [f"Submission {uuid}: ended, but not in the ledger" for uuid in ended if uuid not in submissions]
    alone = Run.objects.filter(submission=None, state=RunState.FINISHED, is_in_ledger=True)
    found += [
        f"Run {uuid}: not in the ledger" for uuid in alone.values_list("uuid", flat=True) if uuid not in runs
    ]
    return found


def _compare_entries(entries: Sequence[Finished]) -> list[str]:
    submissions = [entry.submission for entry in entries if entry.submission]
    runs = [run for entry in entries for run in entry.runs]
    return [
        *_compare_unsaved(Submission, submissions, _SUBMISSION_FIELDS),
        *_compare_unsaved(Run, runs, _RUN_FIELDS),
    ]


def _compare_unsaved(model: type[Model], stored: Sequence[Any], fields: Sequence[str]) -> Iterator[str]:
    names = [row.uuid for row in stored]
    there = {row.pk: row for row in model._default_manager.filter(pk__in=names)}
    # An open submission whose end is in the ledger already is the walk's to move on, not a difference.
    mirrored = {
        str(uuid): _values(row, fields) for uuid, row in there.items() if getattr(row, "is_terminal", True)
    }
    is_moving = {str(uuid) for uuid, row in there.items() if not getattr(row, "is_terminal", True)}
    expected = {str(row.uuid): _values(row, fields) for row in stored if str(row.uuid) not in is_moving}
    yield from _compare(model.__name__, mirrored, expected)


def _compare(what: str, mirrored: Rows, stored: Rows) -> Iterator[str]:
    for key in sorted(mirrored.keys() - stored.keys()):
        yield f"{what} {key}: in the mirror only"
    for key in sorted(stored.keys() - mirrored.keys()):
        yield f"{what} {key}: in the store only"
    for key in sorted(mirrored.keys() & stored.keys()):
        for name, value in stored[key].items():
            if mirrored[key][name] != value:
                yield f"{what} {key}: {name}: mirror {_shown(mirrored[key][name])}, store {_shown(value)}"


def _rows(model: type[Model], key: str) -> Rows:
    columns = [column.name for column in model._meta.concrete_fields if column.name not in ("id", "index_entry")]
    return {str(row[key]): row for row in model._default_manager.values(*columns)}


def _values(row: Model, fields: Sequence[str]) -> Mapping[str, Any]:
    return {name: getattr(row, name) for name in fields}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
