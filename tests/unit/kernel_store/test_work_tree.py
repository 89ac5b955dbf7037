"""A non-bare store: its files follow each advance, and nobody's changes are written over."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.create import create_store, open_store
from submissions.kernel_store.faults import crashing
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import SAXPY, assert_consistent, make_publication, outside_git

SOURCE = f"{SAXPY}/src/a.cpp"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    outside_git("init", "-q", "-b", "main", "tree", cwd=tmp_path)
    create_store(path, "A zoo")
    return path


@pytest.fixture
def writer(tree: Path) -> Iterator[StoreWriter]:
    with StoreWriter(tree, "Zoo", "zoo@example.org") as opened:
        yield opened


def status(tree: Path) -> str:
    return outside_git("status", "--porcelain", cwd=tree)


def test_it_checks_out_what_it_creates(tree: Path) -> None:
    assert (tree / "zoo.yaml").read_bytes() == b"format_version: 1\ntitle: A zoo\n"
    assert status(tree) == ""


def test_its_files_follow_each_advance(tree: Path, writer: StoreWriter) -> None:
    writer.publish(make_publication())
    assert (tree / SOURCE).read_bytes() == b"int x;\n"
    assert (tree / SAXPY.arch).is_dir() and status(tree) == ""
    writer.publish(make_publication(source=b"int y;\n"))
    assert (tree / SOURCE).read_bytes() == b"int y;\n"
    assert status(tree) == ""
    assert_consistent(tree)


def test_it_refuses_a_dirty_work_tree(tree: Path, writer: StoreWriter) -> None:
    (tree / "zoo.yaml").write_text("mine\n")
    with pytest.raises(Broken, match=r"store:dirty.*bare repository"):
        open_store(tree)
    prepared = writer.prepare(make_publication())
    with pytest.raises(Broken, match="store:dirty"):
        writer.advance(prepared)
    assert writer.reader.main_head() == prepared.main_old
    assert (tree / "zoo.yaml").read_text() == "mine\n"


def test_it_refuses_staged_changes(tree: Path, writer: StoreWriter) -> None:
    (tree / "new.txt").write_text("mine\n")
    outside_git("add", "new.txt", cwd=tree)
    with pytest.raises(Broken, match="store:dirty"):
        writer.publish(make_publication())
    assert (tree / "new.txt").read_text() == "mine\n"


def test_it_never_writes_over_an_untracked_file(tree: Path, writer: StoreWriter) -> None:
    (tree / SOURCE).parent.mkdir(parents=True)
    (tree / SOURCE).write_text("mine\n")
    head = writer.reader.main_head()
    with pytest.raises(Broken, match="store:dirty"):
        writer.publish(make_publication())
    assert (tree / SOURCE).read_text() == "mine\n"
    assert writer.reader.main_head() == head


def test_it_leaves_untracked_files_alone(tree: Path, writer: StoreWriter) -> None:
    (tree / "notes.txt").write_text("mine\n")
    writer.publish(make_publication())
    assert (tree / "notes.txt").read_text() == "mine\n"


def test_it_accepts_a_commit_made_in_the_work_tree(tree: Path, writer: StoreWriter) -> None:
    writer.publish(make_publication())
    (tree / "notes.txt").write_text("mine\n")
    outside_git("add", ".", cwd=tree)
    outside_git("commit", "-q", "-m", "by hand", cwd=tree)
    writer.publish(make_publication(source=b"int y;\n"))
    assert (tree / SOURCE).read_bytes() == b"int y;\n"
    assert status(tree) == ""


def test_it_leaves_the_files_of_another_branch_alone(tree: Path, writer: StoreWriter) -> None:
    outside_git("checkout", "-q", "-b", "mine", cwd=tree)
    (tree / "zoo.yaml").write_text("mine\n")
    prepared = writer.publish(make_publication())
    assert writer.reader.main_head() == prepared.main_new
    assert not (tree / SOURCE).exists()


def test_its_files_catch_up_after_a_crash(tree: Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            with (
                crashing(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == "advance:moved" else None),
                StoreWriter(tree, "Zoo", "zoo@example.org") as writer,
            ):
                writer.publish(make_publication())
        finally:
            os._exit(7)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert not (tree / SOURCE).exists()
    open_store(tree)
    assert (tree / SOURCE).exists() and status(tree) == ""


def test_it_publishes_even_if_the_files_cannot_follow(
    tree: Path, writer: StoreWriter, caplog: pytest.LogCaptureFixture
) -> None:
    prepared = writer.prepare(make_publication())

    def spoil(name: str) -> None:
        if name == "advance:moved":
            (tree / "zoo.yaml").write_text("just now\n")

    with crashing(spoil):
        writer.advance(prepared)
    assert writer.is_published(prepared)
    assert "the work tree did not follow" in caplog.text
    assert (tree / "zoo.yaml").read_text() == "just now\n"


def test_it_refuses_a_filter_whose_name_cannot_be_overridden(tree: Path) -> None:
    with (tree / ".git/config").open("a") as config:
        config.write('[filter "a=b"]\n\tclean = cat\n')
    with pytest.raises(Broken, match=r"store:dirty.*filter"):
        open_store(tree)
