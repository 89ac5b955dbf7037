"""Two phases: what prepare writes is invisible, what advance shows is whole."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId
from submissions.kernel_store.publication import LedgerEntry, Moved
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import (
    RECEIVED,
    SAXPY,
    assert_consistent,
    make_publication,
    outside_git,
    push_file,
)


def test_it_shows_nothing_before_the_advance(writer: StoreWriter, reader: StoreReader) -> None:
    before = (reader.main_head(), reader.ledger_head())
    prepared = writer.prepare(make_publication())
    assert (reader.main_head(), reader.ledger_head()) == before
    assert writer.pending() == [prepared]
    assert not writer.is_published(prepared)


def test_it_moves_both_branches_and_drops_the_private_refs(writer: StoreWriter, reader: StoreReader) -> None:
    prepared = writer.prepare(make_publication())
    writer.advance(prepared)
    assert (reader.main_head(), reader.ledger_head()) == (prepared.main_new, prepared.ledger_new)
    assert writer.pending() == []
    assert writer.is_published(prepared)


def test_it_writes_the_source_commits_id_into_the_figures(writer: StoreWriter, reader: StoreReader) -> None:
    prepared = writer.publish(make_publication())
    result = reader.bench_result(prepared.main_new, SAXPY)
    assert result is not None and result["source_commit"] == prepared.source_commit
    source, bench = reader.commits(prepared.main_old, prepared.main_new)
    assert (source.id, bench.id) == (prepared.source_commit, prepared.bench_commit)
    assert reader.source_commit_of(SAXPY) == prepared.source_commit


def test_it_replaces_the_folder_of_a_new_version_wholly(writer: StoreWriter, reader: StoreReader) -> None:
    first = make_publication()
    old_files = {**(first.package_files or {}), "src/gone.hpp": b"//\n", "src/sub/gone.hpp": b"//\n"}
    writer.publish(replace(first, package_files=old_files))
    prepared = writer.publish(make_publication(source=b"int y;\n"))
    files = reader.files(prepared.main_new, SAXPY)
    assert sorted(files) == [".kernel_package/bench_result.yaml", ".kernel_package/desc.yaml", "src/a.cpp"]
    assert files["src/a.cpp"] == b"int y;\n"


def test_it_keeps_the_old_figures_until_the_bench_commit(writer: StoreWriter, reader: StoreReader) -> None:
    writer.publish(make_publication())
    prepared = writer.publish(make_publication(source=b"int y;\n"))
    changed = reader.changed_paths(prepared.main_old, prepared.source_commit)
    assert changed == [f"{SAXPY}/src/a.cpp"]
    assert reader.changed_paths(prepared.source_commit, prepared.main_new) == [
        f"{SAXPY}/.kernel_package/bench_result.yaml"
    ]


@pytest.mark.parametrize("files", ["none", "same"])
def test_it_makes_no_source_commit_for_an_unchanged_source(
    writer: StoreWriter, reader: StoreReader, files: str
) -> None:
    first = writer.publish(make_publication())
    again = make_publication()
    second = writer.publish(replace(again, package_files=None) if files == "none" else again)
    assert second.source_commit == first.source_commit
    assert len(reader.commits(second.main_old, second.main_new)) == 1
    assert reader.bench_result(second.main_new, SAXPY) == {
        "schema_version": 1,
        "source_commit": first.source_commit,
        "submission": second.uuid,
    }


def test_it_refuses_figures_without_any_source(writer: StoreWriter) -> None:
    with pytest.raises(Broken, match="store:no-source"):
        writer.prepare(make_publication(package_files=None))
    assert writer.pending() == []


def test_it_ignores_figures_sent_with_a_package(writer: StoreWriter, reader: StoreReader) -> None:
    publication = make_publication()
    files = {**(publication.package_files or {}), ".kernel_package/bench_result.yaml": b"speedup: 1000\n"}
    prepared = writer.publish(replace(publication, package_files=files))
    assert b"1000" not in b"".join(reader.files(prepared.source_commit, SAXPY).values())


def test_it_leaves_other_packages_alone(writer: StoreWriter, reader: StoreReader) -> None:
    other = KernelId.parse("x86_64/Vector/saxpy/fp32/unrolled2")
    writer.publish(make_publication(other))
    before = reader.files(reader.main_head(), other)
    head = writer.publish(make_publication()).main_new
    assert reader.files(head, other) == before
    assert reader.kernel_ids(head) == [SAXPY, other]


def test_it_raises_moved_when_a_push_came_in_between(
    writer: StoreWriter, reader: StoreReader, clone: Path
) -> None:
    prepared = writer.prepare(make_publication())
    push_file(clone, "README.md", "by hand\n")
    with pytest.raises(Moved, match="store:moved"):
        writer.advance(prepared)
    assert reader.ledger_head() == prepared.ledger_old
    writer.drop(prepared.uuid)
    writer.publish(make_publication(uuid=prepared.uuid))
    assert reader.read(reader.main_head(), "README.md") == b"by hand\n"


def test_it_raises_moved_when_only_the_ledger_moved(writer: StoreWriter, reader: StoreReader, store: Path) -> None:
    prepared = writer.prepare(make_publication())
    writer.record(LedgerEntry(str(uuid4()), RECEIVED, {"submission.json": b"{}\n"}))
    with pytest.raises(Moved):
        writer.advance(prepared)
    assert reader.main_head() == prepared.main_old


def test_it_raises_moved_when_the_prepared_write_was_dropped(writer: StoreWriter, reader: StoreReader) -> None:
    prepared = writer.prepare(make_publication())
    writer.drop(prepared.uuid)
    with pytest.raises(Moved):
        writer.advance(prepared)
    assert reader.main_head() == prepared.main_old


def test_it_prepares_again_over_its_own_leftovers(writer: StoreWriter, clone: Path, store: Path) -> None:
    uuid = str(uuid4())
    writer.prepare(make_publication(uuid=uuid))
    push_file(clone, "README.md", "by hand\n")
    second = writer.prepare(make_publication(uuid=uuid))
    assert writer.pending() == [second]
    writer.advance(second)
    assert_consistent(store)


def test_it_advances_once_however_often_it_is_asked(writer: StoreWriter, reader: StoreReader) -> None:
    prepared = writer.publish(make_publication())
    head = writer.publish(make_publication(KernelId.parse("x86_64/Vector/saxpy/fp32/later"))).main_new
    writer.advance(prepared)
    assert reader.main_head() == head


def test_it_completes_a_transaction_that_git_left_half_done(
    writer: StoreWriter, reader: StoreReader, store: Path
) -> None:
    prepared = writer.prepare(make_publication())
    # What a power cut between git's two renames leaves.
    outside_git("update-ref", "refs/heads/main", prepared.main_new, prepared.main_old, cwd=store)
    writer.record(LedgerEntry(str(uuid4()), RECEIVED, {"submission.json": b"{}\n"}))
    (found,) = writer.pending()
    assert found == prepared
    writer.advance(found)
    assert set(reader.ledger_entry(RECEIVED, prepared.uuid)) == {"submission.json", "decision.json", "run-1.json"}
    assert reader.ledger_source(RECEIVED, prepared.uuid)["src/a.cpp"] == b"int x;\n"
    assert writer.pending() == []
    assert_consistent(store)


def test_it_does_not_lose_the_ledgers_half_when_told_to_drop(writer: StoreWriter, store: Path) -> None:
    prepared = writer.prepare(make_publication())
    outside_git("update-ref", "refs/heads/main", prepared.main_new, prepared.main_old, cwd=store)
    writer.drop(prepared.uuid)
    assert writer.pending() == []
    assert_consistent(store)


def test_it_lists_a_half_prepared_write_and_refuses_to_advance_it(writer: StoreWriter, store: Path) -> None:
    prepared = writer.prepare(make_publication())
    outside_git("update-ref", "-d", f"refs/zoo/pending/{prepared.uuid}/ledger", cwd=store)
    (found,) = writer.pending()
    assert not found.is_complete and found.main_new == prepared.main_new
    with pytest.raises(Broken, match="store:incomplete"):
        writer.advance(found)
    writer.drop(found.uuid)
    assert writer.pending() == []


def test_it_works_on_a_repository_without_any_branch(tmp_path: Path) -> None:
    outside_git("init", "-q", "--bare", "-b", "main", "empty.git", cwd=tmp_path)
    with StoreWriter(tmp_path / "empty.git", "Zoo", "zoo@example.org") as writer:
        prepared = writer.prepare(make_publication())
        assert (prepared.main_old, prepared.ledger_old) == ("", "")
        assert writer.pending() == [prepared]
        writer.advance(prepared)
    assert_consistent(tmp_path / "empty.git")


def test_it_writes_nothing_when_the_figures_cannot_be_made(writer: StoreWriter, store: Path) -> None:
    def fail(commit: str) -> bytes:
        raise ZeroDivisionError(commit)

    with pytest.raises(ZeroDivisionError):
        writer.prepare(make_publication(make_bench=fail))
    assert writer.pending() == []
    assert_consistent(store)


@pytest.mark.parametrize(
    "path",
    [
        "../escape",
        "/etc/passwd",
        "src/.git/config",
        ".GIT/x",
        "src/.gitattributes",
        "a//b",
        "a/\nb",
        "a\\b",
        "\udcff",
        "",
    ],
)
def test_it_refuses_paths_that_git_would_misread(writer: StoreWriter, path: str) -> None:
    publication = make_publication()
    with pytest.raises(Broken, match="store:bad-path"):
        writer.prepare(replace(publication, package_files={**(publication.package_files or {}), path: b""}))
    assert writer.pending() == []


@pytest.mark.parametrize(
    "path", ['src/quo"te.h', "src/with blank.h", "src/übung.h", " lead", "-option", "src/a:b"]
)
def test_it_stores_unusual_but_legal_paths(writer: StoreWriter, reader: StoreReader, path: str) -> None:
    publication = make_publication()
    files = {**(publication.package_files or {}), path: b"data 4\nM 100644 inline evil\n\0\xff"}
    prepared = writer.publish(replace(publication, package_files=files))
    assert reader.files(prepared.main_new, SAXPY)[path] == files[path]


def test_it_makes_equal_commits_of_equal_publications(writer: StoreWriter) -> None:
    uuid = str(uuid4())
    publication = make_publication(uuid=uuid, committed_at=datetime(2026, 2, 1, tzinfo=UTC))
    assert writer.prepare(publication) == writer.prepare(publication)


def test_it_reads_well_in_git_log(writer: StoreWriter, store: Path) -> None:
    publication = make_publication(committed_at=datetime(2026, 2, 1, 10, 0, tzinfo=UTC))
    writer.publish(publication)
    log = outside_git("log", "--stat", "-2", "main", "--format=%an <%ae> %cI%n%s%n%n%b", cwd=store)
    assert "Zoo <zoo@example.org> 2026-02-01T10:00:00+00:00" in log
    assert f"source: {SAXPY}\n" in log
    assert f"bench: {SAXPY} 1.31x\n" in log
    assert "Faster by 31 % than the baseline." in log
    shown = outside_git("log", "-1", "main", "--format=%(trailers:only,unfold)", cwd=store).splitlines()
    assert shown == [
        f"Zoo-Submission: {publication.uuid}",
        "Zoo-Submitter: entrant-a",
        "Zoo-Runner: cpu0",
        f"Zoo-Run: {publication.trailers['Zoo-Run']}",
    ]


def test_it_cannot_be_talked_into_false_trailers(writer: StoreWriter, reader: StoreReader, store: Path) -> None:
    forged = "nice\n\nZoo-Submitter: root\n---\nZoo-Run: 0\n\nZoo-Runner: mine\n"
    publication = make_publication(summary=forged, trailers={"Zoo-Submitter": "a\nZoo-Runner: mine\0"})
    prepared = writer.publish(publication)
    for commit in reader.commits(prepared.main_old, prepared.main_new):
        assert commit.trailers == {"Zoo-Submission": prepared.uuid, "Zoo-Submitter": "a Zoo-Runner: mine"}
    by_git = outside_git("log", "-1", "main", "--format=%(trailers:only,unfold)", cwd=store).splitlines()
    assert by_git == [f"Zoo-Submission: {prepared.uuid}", "Zoo-Submitter: a Zoo-Runner: mine"]


def test_it_keeps_author_lines_whole_whatever_the_name(store: Path) -> None:
    with StoreWriter(store, "Zoo <evil>\n\ncommitter x", "a b>\n@example.org") as writer:
        writer.publish(make_publication())
    assert outside_git("log", "-1", "main", "--format=%an|%ae", cwd=store) == "Zoo evil committer x|ab@example.org"
    assert_consistent(store)


def test_it_does_not_store_a_file_under_a_file(writer: StoreWriter) -> None:
    with pytest.raises(Broken, match=r"store:bad-path.*under another file"):
        writer.commit_files({"docs/a": b"", "docs/a/b": b""}, "Add pages")


def test_it_completes_a_half_whose_ledger_commit_also_removed_files(
    writer: StoreWriter, reader: StoreReader, store: Path
) -> None:
    publication = make_publication()
    old_source = replace(publication.ledger, source={"src/gone.cpp": b"x"})
    writer.record(old_source)
    prepared = writer.prepare(publication)
    outside_git("update-ref", "refs/heads/main", prepared.main_new, prepared.main_old, cwd=store)
    writer.record(LedgerEntry(str(uuid4()), RECEIVED, {"submission.json": b"{}\n"}))
    writer.advance(prepared)
    assert set(reader.ledger_source(RECEIVED, prepared.uuid)) == {".kernel_package/desc.yaml", "src/a.cpp"}
