"""Several writing processes and a maintainer's pushes at once: all arrive, none is lost."""

import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId
from submissions.kernel_store.faults import crashing
from submissions.kernel_store.lock import WriterLock
from submissions.kernel_store.publication import LedgerEntry, Moved
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import (
    RECEIVED,
    assert_consistent,
    make_publication,
    outside_git,
    push_file,
)

WRITERS, EACH, PUSHES = 4, 5, 4


def write_some(path: Path, number: int) -> None:
    with StoreWriter(path, "Zoo", "zoo@example.org") as writer:
        for turn in range(EACH):
            kernel = KernelId.parse(f"x86_64/Vector/saxpy/fp32/k{number}-{turn % 2}")
            publication = make_publication(kernel, source=b"int x%d;" % turn)
            writer.record(LedgerEntry(publication.uuid, RECEIVED, {"run-2.json": b"{}\n"}))
            writer.publish(publication)


def test_it_serialises_four_writers_and_an_outside_push(store: Path, clone: Path) -> None:
    children = []
    for number in range(WRITERS):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                write_some(store, number)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    for turn in range(PUSHES):
        push_file(clone, f"docs/{turn}.md", "by hand\n")
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * WRITERS
    with StoreReader(store) as reader:
        main = reader.main_head()
        benches = [commit for commit in reader.commits("", main) if commit.subject.startswith("bench:")]
        assert len(benches) == WRITERS * EACH
        assert all(reader.read(main, f"docs/{turn}.md") == b"by hand\n" for turn in range(PUSHES))
        entries = dict(reader.ledger_entries("", reader.ledger_head()))
        assert len(entries) == WRITERS * EACH
        assert all(set(records) >= {"run-1.json", "run-2.json", "decision.json"} for records in entries.values())
    assert_consistent(store)


def at_the_first(point: str, action: Callable[[], None]) -> Callable[[str], None]:
    """Call the action once, at the last instant before git's own comparison."""
    waiting = [action]
    return lambda name: waiting.pop()() if name == point and waiting else None


def test_it_loses_no_push_that_comes_in_the_last_instant(store: Path, clone: Path, writer: StoreWriter) -> None:
    prepared = writer.prepare(make_publication())
    push = at_the_first("advance:committing", lambda: push_file(clone, "README.md", "by hand\n"))
    with crashing(push), pytest.raises(Moved):
        writer.advance(prepared)
    assert writer.reader.ledger_head() == prepared.ledger_old
    assert writer.reader.read(writer.reader.main_head(), "README.md") == b"by hand\n"


def test_it_publishes_again_on_top_of_such_a_push(store: Path, clone: Path, writer: StoreWriter) -> None:
    push = at_the_first("advance:committing", lambda: push_file(clone, "README.md", "by hand\n"))
    with crashing(push):
        prepared = writer.publish(make_publication())
    assert writer.reader.read(prepared.main_old, "README.md") == b"by hand\n"
    assert writer.pending() == []
    assert_consistent(store)


def test_it_commits_files_again_on_top_of_such_a_push(store: Path, clone: Path, writer: StoreWriter) -> None:
    push = at_the_first("advance:committing", lambda: push_file(clone, "README.md", "by hand\n"))
    with crashing(push):
        head = writer.commit_files({"docs/a.md": b"a"}, "Add a page")
    assert writer.reader.read(head, "README.md") == b"by hand\n"
    assert writer.reader.read(head, "docs/a.md") == b"a"
    assert outside_git("for-each-ref", "refs/zoo", cwd=store) == ""


def test_it_gives_up_on_a_head_that_never_rests(
    clone: Path, writer: StoreWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("submissions.kernel_store.writing._TRIES", 2)
    turns = count()

    def push(name: str) -> None:
        if name == "advance:committing":
            push_file(clone, f"docs/{next(turns)}.md", "by hand\n")

    with crashing(push), pytest.raises(Moved, match="try again later"):
        writer.commit_files({"docs/a.md": b"a"}, "Add a page")
    with crashing(push), pytest.raises(Moved, match="try again later"):
        writer.publish(make_publication())


def test_it_says_who_is_in_the_way_when_the_lock_is_held_too_long(store: Path, writer: StoreWriter) -> None:
    other = WriterLock(store, timeout_seconds=0.02)
    with writer.exclusive(), pytest.raises(Broken, match="store:busy"), other.held():
        pass
    with other.held(), other.held():
        pass


def test_it_keeps_another_thread_out_too(writer: StoreWriter) -> None:
    order: list[str] = []

    def second() -> None:
        with writer.exclusive():
            order.append("second")

    thread = threading.Thread(target=second)
    with writer.exclusive():
        thread.start()
        thread.join(timeout=0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
