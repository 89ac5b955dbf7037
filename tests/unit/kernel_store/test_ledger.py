"""The ledger: what ended, with its records, written once however often it is told."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from uuid import uuid4

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.publication import LedgerEntry
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import RECEIVED, assert_consistent, make_publication, outside_git

RECORDS = {"submission.json": b'{"n": 1}\n', "run-1.json": b"{}\n"}


def entry(uuid: str, records: dict[str, bytes] | None = None, **changes: object) -> LedgerEntry:
    return LedgerEntry(uuid, RECEIVED, RECORDS if records is None else records, **changes)  # type: ignore[arg-type]


def test_it_lays_an_entry_under_its_utc_day(writer: StoreWriter, reader: StoreReader) -> None:
    uuid = str(uuid4())
    late = datetime(2026, 2, 1, 1, 0, tzinfo=timezone(timedelta(hours=3)))
    head = writer.record(LedgerEntry(uuid, late, RECORDS))
    assert reader.read(head, f"2026/01/31/{uuid}/submission.json") == RECORDS["submission.json"]
    assert reader.ledger_entry(late, uuid) == RECORDS


def test_it_refuses_a_time_without_a_zone(writer: StoreWriter) -> None:
    with pytest.raises(ValueError, match="time zone"):
        writer.record(LedgerEntry(str(uuid4()), datetime(2026, 1, 1), RECORDS))


def test_it_makes_no_second_commit_of_the_same_entry(writer: StoreWriter, reader: StoreReader) -> None:
    wanted = entry(str(uuid4()), source={"src/a.cpp": b"x"})
    first = writer.record(wanted)
    assert writer.record(wanted) == first == reader.ledger_head()


def test_it_adds_a_later_record_and_keeps_the_earlier(writer: StoreWriter, reader: StoreReader) -> None:
    uuid = str(uuid4())
    writer.record(entry(uuid, source={"src/a.cpp": b"x"}))
    writer.record(entry(uuid, {"run-2.json": b"{}\n"}))
    assert reader.ledger_entry(RECEIVED, uuid) == {**RECORDS, "run-2.json": b"{}\n"}
    assert reader.ledger_source(RECEIVED, uuid) == {"src/a.cpp": b"x"}


def test_it_replaces_a_source_wholly(writer: StoreWriter, reader: StoreReader) -> None:
    uuid = str(uuid4())
    writer.record(entry(uuid, source={"src/a.cpp": b"x", "src/b.cpp": b"y"}))
    writer.record(entry(uuid, source={"src/a.cpp": b"x"}))
    assert reader.ledger_source(RECEIVED, uuid) == {"src/a.cpp": b"x"}


def test_it_knows_nothing_of_an_absent_entry(reader: StoreReader) -> None:
    assert reader.ledger_entry(RECEIVED, str(uuid4())) == {}
    assert reader.ledger_source(RECEIVED, str(uuid4())) == {}


@pytest.mark.parametrize("name", ["../x.json", "Run.json", "run-1.txt", "source", "a/b.json", ".json"])
def test_it_refuses_odd_record_names(writer: StoreWriter, name: str) -> None:
    with pytest.raises(Broken, match="store:bad-path"):
        writer.record(entry(str(uuid4()), {name: b"{}"}))


@pytest.mark.parametrize(
    "uuid", ["", "..", "x", "../../refs", str(uuid4()).upper(), str(uuid4()).replace("-", "")]
)
def test_it_refuses_odd_uuids(writer: StoreWriter, uuid: str) -> None:
    with pytest.raises(Broken, match="store:bad-uuid"):
        writer.record(entry(uuid))
    with pytest.raises(Broken, match="store:bad-uuid"):
        writer.drop(uuid)


def test_it_iterates_whole_entries_that_changed(writer: StoreWriter, reader: StoreReader) -> None:
    uuids = [str(uuid4()) for _ in range(3)]
    for uuid in uuids:
        writer.record(entry(uuid, source={"src/run-9.json": b"not a record"}))
    old = reader.ledger_head()
    writer.record(entry(uuids[1], {"run-2.json": b"{}\n"}))
    published = writer.publish(make_publication())
    found = dict(reader.ledger_entries(old, reader.ledger_head()))
    assert set(found) == {uuids[1], published.uuid}
    assert found[uuids[1]] == {**RECORDS, "run-2.json": b"{}\n"}
    assert names(reader.ledger_entries("", reader.ledger_head())) == sorted([*uuids, published.uuid])
    assert names(reader.ledger_entries("", old)) == sorted(uuids)
    assert list(reader.ledger_entries(old, old)) == []
    assert list(reader.ledger_entries("", "")) == []


def names(entries: object) -> Sequence[str]:
    return sorted(uuid for uuid, _ in entries)  # type: ignore[attr-defined]


def test_it_iterates_more_entries_than_it_loads_at_once(writer: StoreWriter, reader: StoreReader) -> None:
    uuids = sorted(str(uuid4()) for _ in range(450))
    files = {f"2026/01/02/{uuid}/run-1.json": uuid.encode() for uuid in uuids}
    writer._commit("refs/heads/ledger", b"many\n", lambda head: _changes(files))
    found = dict(reader.ledger_entries("", reader.ledger_head()))
    assert found == {uuid: {"run-1.json": uuid.encode()} for uuid in uuids}


def _changes(files: dict[str, bytes]) -> object:
    from submissions.kernel_store.fast_import import Changes

    return Changes(files)


def test_it_knows_nothing_while_there_is_no_ledger(tmp_path: Path) -> None:
    outside_git("init", "-q", "--bare", "e.git", cwd=tmp_path)
    with StoreReader(tmp_path / "e.git") as reader:
        assert reader.ledger_entry(RECEIVED, str(uuid4())) == {}
        assert reader.ledger_source(RECEIVED, str(uuid4())) == {}


def test_it_keeps_moderation_apart(writer: StoreWriter, reader: StoreReader, store: Path) -> None:
    first, second = str(uuid4()), str(uuid4())
    writer.moderate(first, b'{"hide": true}\n', "hide: a kernel", {"Zoo-Moderator": "staff-a"})
    old = reader.ledger_head()
    assert writer.moderate(first, b'{"hide": true}\n', "hide: a kernel") == old
    writer.moderate(second, b'{"hide": false}\n', "show: a kernel")
    assert dict(reader.moderation("", reader.ledger_head())).keys() == {first, second}
    assert dict(reader.moderation(old, reader.ledger_head())) == {second: b'{"hide": false}\n'}
    assert list(reader.moderation("", "")) == []
    assert list(reader.ledger_entries("", reader.ledger_head())) == []
    assert_consistent(store)


def test_it_dates_the_ledgers_commits_now(writer: StoreWriter, reader: StoreReader) -> None:
    writer.record(entry(str(uuid4()), trailers={"Zoo-Run": "r"}))
    (commit,) = reader.commits("", reader.ledger_head())[-1:]
    assert abs(commit.time - datetime.now(UTC)) < timedelta(hours=1)
    assert commit.trailers["Zoo-Run"] == "r"
