"""Several writing processes and a maintainer's pushes at once: all arrive, none is lost."""

import os
import threading
from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId
from submissions.kernel_store.lock import WriterLock
from submissions.kernel_store.publication import LedgerEntry
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import RECEIVED, assert_consistent, make_publication, push_file

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
