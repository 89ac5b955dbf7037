"""A git that dies, hangs or is missing: a clear Broken, and nothing half-written."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_store import git as store_git
from submissions.kernel_store.fast_import import FastImport
from submissions.kernel_store.faults import crashing
from submissions.kernel_store.git import Git
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import assert_consistent, make_publication


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[FastImport]:
    """The import sessions that were opened, in order."""
    opened: list[FastImport] = []
    enter = FastImport.__enter__

    def remember(session: FastImport) -> FastImport:
        opened.append(session)
        return enter(session)

    monkeypatch.setattr(FastImport, "__enter__", remember)
    return opened


@pytest.mark.parametrize("point", ["prepare:source-streamed", "prepare:bench-streamed", "prepare:ledger-streamed"])
def test_it_writes_no_ref_when_the_import_is_killed(
    store: Path, writer: StoreWriter, sessions: list[FastImport], point: str
) -> None:
    def kill(name: str) -> None:
        if name == point:
            os.kill(sessions[-1]._process.pid, signal.SIGKILL)
            sessions[-1]._process.wait()

    with crashing(kill), pytest.raises(Broken, match="store:git-failed: git fast-import ended with status -9"):
        writer.prepare(make_publication())
    assert writer.pending() == []
    writer.publish(make_publication())
    assert_consistent(store)


def test_it_gives_gits_own_words(store: Path, writer: StoreWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer.reader.history, "head", lambda ref: "1" * 40)
    with pytest.raises(Broken, match=r"store:git-failed.*Not a valid commit: 1111"):
        writer.commit_files({"a": b""}, "On nothing")
    assert_consistent(store)


def test_it_does_not_wait_for_ever(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_git, "CALL_SECONDS", 0.05)
    monkeypatch.setattr(Git, "command", lambda *_, **__: ["sleep", "60"])
    with pytest.raises(Broken, match=r"store:git-slow.*git gc"):
        Git(store).run("gc")


def test_it_says_that_the_store_vanished(store: Path) -> None:
    git = Git(store)
    shutil.rmtree(store)
    with pytest.raises(Broken, match="store:missing"):
        git.run("rev-parse", "HEAD")


def test_it_says_that_git_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    store_git.program.cache_clear()
    try:
        with pytest.raises(Broken, match=r"store:no-git.*install"):
            store_git.program()
    finally:
        store_git.program.cache_clear()


def test_it_says_why_no_repository_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Broken, match="store:git-failed: git init"):
        store_git.initialise(tmp_path / "file" / "x.git")
