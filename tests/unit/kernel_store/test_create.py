"""Creating a store, and opening what others made."""

from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.create import create_store, open_store
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import assert_consistent, make_publication, outside_git


def test_it_creates_a_bare_store_with_both_branches(tmp_path: Path) -> None:
    path = tmp_path / "deep/er/store.git"
    create_store(path, "A zoo")
    assert outside_git("rev-parse", "--is-bare-repository", cwd=path) == "true"
    with StoreReader(path) as reader:
        assert reader.read(reader.main_head(), "zoo.yaml") == b"format_version: 1\ntitle: A zoo\n"
        assert reader.ledger_head() and reader.changed_paths("", reader.ledger_head()) == []
        assert reader.kernel_ids(reader.main_head()) == []
    assert [name.name for name in path.parent.iterdir()] == ["store.git"]
    assert not (path / "hooks").exists()
    assert_consistent(path)


def test_it_changes_nothing_when_created_twice(store: Path) -> None:
    with StoreReader(store) as reader:
        before = (reader.main_head(), reader.ledger_head())
        create_store(store, "Another title")
        assert (reader.main_head(), reader.ledger_head()) == before


def test_it_creates_into_an_empty_folder(tmp_path: Path) -> None:
    create_store(tmp_path, "A zoo")
    open_store(tmp_path)


def test_it_adds_the_ledger_that_a_maintainers_repository_lacks(tmp_path: Path) -> None:
    outside_git("init", "-q", "--bare", "-b", "main", "bare.git", cwd=tmp_path)
    create_store(tmp_path / "bare.git", "A zoo")
    with StoreReader(tmp_path / "bare.git") as reader:
        assert reader.main_head() and reader.ledger_head()


def test_it_hides_the_private_refs_from_clones_and_pushes(
    store: Path, writer: StoreWriter, tmp_path: Path
) -> None:
    prepared = writer.prepare(make_publication())
    assert "refs/zoo" not in outside_git("ls-remote", str(store), cwd=tmp_path)
    outside_git("clone", "-q", "--mirror", str(store), "mirror.git", cwd=tmp_path)
    target = f"refs/zoo/pending/{prepared.uuid}/main"
    outside_git("push", "-q", str(store), f"refs/heads/main:{target}", cwd=tmp_path / "mirror.git", check=False)
    assert writer.pending() == [prepared]


def test_it_refuses_a_push_that_rewrites_history(store: Path, clone: Path) -> None:
    before = outside_git("rev-parse", "main", cwd=store)
    outside_git("checkout", "-q", "--orphan", "other", cwd=clone)
    outside_git("commit", "-q", "-m", "other", cwd=clone)
    outside_git("push", "-q", "--force", "origin", "other:main", cwd=clone, check=False)
    outside_git("push", "-q", "origin", ":main", cwd=clone, check=False)
    assert outside_git("rev-parse", "main", cwd=store) == before


@pytest.mark.parametrize("what", ["absent", "a folder with files", "a file"])
def test_it_says_clearly_that_there_is_no_repository(tmp_path: Path, what: str) -> None:
    path = tmp_path / "store"
    if what == "a file":
        path.write_text("no repository")
    elif what == "a folder with files":
        path.mkdir()
        (path / "notes.txt").write_text("no repository")
        with pytest.raises(Broken, match="store:missing"):
            create_store(path, "A zoo")
    with pytest.raises(Broken, match=r"store:missing.*is not a git repository"):
        open_store(path)


def test_it_refuses_other_object_formats(tmp_path: Path) -> None:
    outside_git("init", "-q", "--bare", "--object-format=sha256", "s.git", cwd=tmp_path)
    with pytest.raises(Broken, match="store:object-format"):
        open_store(tmp_path / "s.git")
