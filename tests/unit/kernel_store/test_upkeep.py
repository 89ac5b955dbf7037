"""What the dead leave behind is removed, what the living hold is not."""

import os
from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.git import Git
from submissions.kernel_store.publication import Moved
from submissions.kernel_store.refs import RefMove, Refs
from submissions.kernel_store.upkeep import clear_stale
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import assert_consistent, make_publication


def aged(path: Path, seconds: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    when = path.stat().st_mtime - seconds
    os.utime(path, (when, when))
    return path


def test_it_clears_the_locks_of_a_dead_git(store: Path, writer: StoreWriter) -> None:
    prepared = writer.prepare(make_publication())
    lock = aged(store / "refs/heads/main.lock", 120)
    (found,) = writer.pending()
    assert not lock.exists()
    writer.advance(found)
    assert found == prepared
    assert_consistent(store)


def test_it_respects_the_lock_of_a_living_git(store: Path) -> None:
    young = aged(store / "refs/heads/main.lock", 5)
    packing = aged(store / "objects/pack/tmp_pack_a", 600)
    old = [
        aged(store / name, 7200) for name in ("packed-refs.lock", "objects/pack/tmp_pack_b", "fast_import_crash_1")
    ]
    removed = clear_stale(Git(store))
    assert young.exists() and packing.exists()
    assert not any(path.exists() for path in old)
    assert sorted(removed) == ["fast_import_crash_1", "objects/pack/tmp_pack_b", "packed-refs.lock"]


def test_it_says_that_a_ref_is_locked(store: Path, monkeypatch: pytest.MonkeyPatch, writer: StoreWriter) -> None:
    monkeypatch.setattr("submissions.kernel_store.git._SETTINGS", ("core.filesRefLockTimeout=10",))
    aged(store / "refs/heads/main.lock", 5)
    head = writer.reader.main_head()
    with pytest.raises(Broken, match="store:locked") as caught:
        Refs(Git(store)).move([RefMove("refs/heads/main", head, writer.reader.ledger_head())])
    assert not isinstance(caught.value, Moved)


def test_it_says_what_git_said(store: Path, writer: StoreWriter) -> None:
    head = writer.reader.main_head()
    with pytest.raises(Broken, match="store:git-failed"):
        Refs(Git(store)).move([RefMove("refs/heads/main", head, "1" * 40)])


def test_it_publishes_even_if_the_packs_cannot_be_tidied(
    store: Path, writer: StoreWriter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("submissions.kernel_store.upkeep.PACKS_AT_MOST", 0)
    with (store / "config").open("a") as config:
        config.write('[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n')
    assert writer.is_published(writer.publish(make_publication()))
    assert "could not be tidied" in caplog.text


def test_it_clears_the_scratch_refs_of_a_dead_writer(store: Path, writer: StoreWriter) -> None:
    head = writer.reader.main_head()
    Refs(Git(store)).move([RefMove("refs/zoo/scratch/left-behind", "", head)])
    writer.pending()
    assert Refs(Git(store)).under("refs/zoo") == {}
