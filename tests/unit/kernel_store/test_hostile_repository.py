"""A hostile configuration, hooks and attributes in the repository never start a program."""

from pathlib import Path
from uuid import uuid4

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_store import upkeep
from submissions.kernel_store.create import create_store, open_store
from submissions.kernel_store.git import Git
from submissions.kernel_store.publication import LedgerEntry
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import RECEIVED, SAXPY, make_publication, outside_git

HOOKS = [
    *("reference-transaction", "post-commit", "pre-commit", "post-checkout", "post-index-change", "pre-receive"),
    *(
        "update",
        "post-update",
        "post-receive",
        "proc-receive",
        "post-rewrite",
        "pre-auto-gc",
        "fsmonitor-watchman",
    ),
]
MISSING = "1234567890123456789012345678901234567890"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "executed"


@pytest.fixture
def evil(tmp_path: Path, marker: Path) -> Path:
    """A program that leaves its mark."""
    path = tmp_path / "evil.sh"
    path.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\nexit 1\n')
    path.chmod(0o755)
    return path


def infest(git_dir: Path, evil: Path) -> None:
    """Every place where git would take a program's name from the repository itself."""
    hooks = git_dir / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).write_text(evil.read_text())
        (hooks / name).chmod(0o755)
    included = git_dir / "more-config"
    included.write_text(f'[filter "hidden"]\n\tsmudge = {evil}\n\tclean = {evil}\n\trequired = true\n')
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info/attributes").write_text("* filter=evil diff=evil\n*.h filter=hidden\n")
    with (git_dir / "config").open("a") as config:
        config.write(f"""
[core]
\thooksPath = {hooks}
\tfsmonitor = {evil}
\tpager = {evil}
\teditor = {evil}
\tsshCommand = {evil}
\tgitProxy = {evil}
\tattributesFile = {git_dir}/info/attributes
\tworktree = /
[include]
\tpath = more-config
[filter "evil"]
\tclean = {evil}
\tsmudge = {evil}
\tprocess = {evil}
\trequired = true
[diff]
\texternal = {evil}
[diff "evil"]
\tcommand = {evil}
\ttextconv = {evil}
[gpg]
\tprogram = {evil}
[commit]
\tgpgSign = true
[log]
\tshowSignature = true
[trailer "Zoo-Run"]
\tcommand = {evil}
[gc]
\tauto = 1
\trecentObjectsHook = {evil}
[protocol]
\tallow = always
[protocol "ext"]
\tallow = always
[remote "origin"]
\turl = {git_dir}
\tuploadpack = {evil}
""")


def use_all_of_it(path: Path) -> None:
    open_store(path)
    with StoreWriter(path, "Zoo", "zoo@example.org") as writer:
        reader = writer.reader
        prepared = writer.publish(make_publication())
        writer.publish(make_publication(source=b"int y;\n"))
        writer.record(LedgerEntry(str(uuid4()), RECEIVED, {"submission.json": b"{}\n"}))
        writer.commit_files({"problems/a/b/c/problem.yaml": b"x", "docs/a.h": b"x"}, "by hand")
        writer.pending()
        upkeep.tidy(writer.reader.git)
        head = reader.main_head()
        assert reader.files(head, SAXPY)["src/a.cpp"] == b"int y;\n"
        assert reader.changed_paths(prepared.main_new, head)
        assert reader.kernel_ids(head) and reader.kernel_history(SAXPY) and reader.source_commit_of(SAXPY)
        assert list(reader.ledger_entries("", reader.ledger_head()))
        assert reader.read(MISSING, "x") is None and reader.resolve(MISSING) == ""


def test_it_starts_nothing_that_a_bare_repository_names(store: Path, evil: Path, marker: Path) -> None:
    infest(store, evil)
    use_all_of_it(store)
    assert not marker.exists(), marker.read_text()


def test_it_starts_nothing_that_a_work_tree_names(store: Path, evil: Path, marker: Path, tmp_path: Path) -> None:
    outside_git("clone", "-q", str(store), "tree", cwd=tmp_path)
    path = tmp_path / "tree"
    outside_git("branch", "-q", "ledger", "origin/ledger", cwd=path)
    (path / ".gitattributes").write_text("* filter=evil\n")
    outside_git("add", ".", cwd=path)
    outside_git("commit", "-q", "-m", "attributes", cwd=path)
    infest(path / ".git", evil)
    use_all_of_it(path)
    assert not marker.exists(), marker.read_text()
    assert (path / str(SAXPY) / "src/a.cpp").read_bytes() == b"int y;\n"


def make_partial(git_dir: Path) -> None:
    with (git_dir / "config").open("a") as config:
        config.write('[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n')


def test_it_fetches_no_missing_object_from_a_promised_remote(
    store: Path, evil: Path, marker: Path, reader: StoreReader
) -> None:
    infest(store, evil)
    make_partial(store)
    assert reader.read(MISSING, "x") is None and reader.resolve(MISSING) == ""
    assert reader.main_head()
    assert not marker.exists(), marker.read_text()
    with pytest.raises(Broken, match="store:partial-clone"):
        open_store(store)


def test_the_trap_would_have_caught_an_ordinary_git(store: Path, evil: Path, marker: Path) -> None:
    infest(store, evil)
    outside_git("update-ref", "refs/heads/x", "refs/heads/main", cwd=store, check=False)
    assert "reference-transaction" in marker.read_text()
    marker.unlink()
    make_partial(store)
    outside_git("cat-file", "-p", MISSING, cwd=store, check=False)
    assert marker.exists()


def test_it_uses_no_environment_of_its_caller(
    store: Path, evil: Path, marker: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(evil))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(evil.parent))
    with StoreWriter(store, "Zoo", "zoo@example.org") as writer:
        writer.publish(make_publication())
    create_store(tmp_path / "another.git", "Another")
    assert (tmp_path / "another.git/HEAD").exists()
    assert not marker.exists()
    assert not (tmp_path / "nowhere").exists()


def test_it_reads_what_is_stored_and_not_a_replacement(
    store: Path, reader: StoreReader, writer: StoreWriter
) -> None:
    first = writer.publish(make_publication())
    second = writer.publish(make_publication(source=b"int forged;\n"))
    outside_git("replace", first.main_new, second.main_new, cwd=store)
    assert reader.files(first.main_new, SAXPY)["src/a.cpp"] == b"int x;\n"


def test_it_never_searches_the_folders_above(store: Path) -> None:
    inner = store / "objects" / "inner"
    inner.mkdir()
    with pytest.raises(Broken, match="store:missing"):
        Git(inner)
