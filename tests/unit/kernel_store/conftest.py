"""The cast: a fresh bare store in a temp folder, a writer on it, and packages to publish."""

import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from submissions.kernel_package.names import KernelId
from submissions.kernel_store.create import create_store
from submissions.kernel_store.publication import LedgerEntry, Publication
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter

RECEIVED = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
SAXPY = KernelId.parse("x86_64/Vector/saxpy/fp32/unrolled")

Outside = Callable[..., str]
Publications = Callable[..., Publication]


def outside_git(*arguments: str, cwd: Path, check: bool = True) -> str:
    """Run git as a maintainer would on his own machine, hooks and all."""
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in _MAINTAINER.items()}
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", **who}
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if check and done.returncode != 0:
        raise AssertionError(f"git {arguments} failed: {done.stderr}")
    return done.stdout.strip()


_MAINTAINER = {"NAME": "maintainer-a", "EMAIL": "a@example.org"}


def make_publication(kernel_id: KernelId = SAXPY, source: bytes = b"int x;\n", **changes: object) -> Publication:
    """Build an accepted submission whose figures name its source commit."""
    uuid = str(changes.pop("uuid", uuid4()))
    files = {".kernel_package/desc.yaml": f"kernel_id: {kernel_id}\n".encode(), "src/a.cpp": source}
    records = {
        "submission.json": b'{"uuid": "%s"}\n' % uuid.encode(),
        "decision.json": b"{}\n",
        "run-1.json": b"{}\n",
    }
    entry = LedgerEntry(uuid, RECEIVED, records, source=files)
    values: dict[str, object] = {
        "package_files": files,
        "make_bench": lambda commit: f"schema_version: 1\nsource_commit: {commit}\nsubmission: {uuid}\n".encode(),
        "ledger": entry,
        "speedup_text": "1.31x",
        "summary": "Faster by 31 % than the baseline.",
        "trailers": {"Zoo-Submitter": "entrant-a", "Zoo-Runner": "cpu0", "Zoo-Run": str(uuid4())},
        **changes,
    }
    return Publication(uuid, RECEIVED, kernel_id, **values)  # type: ignore[arg-type]


def assert_consistent(path: Path) -> None:
    """fsck is clean, and every publication stands on main if and only if it stands in the ledger."""
    outside_git("fsck", "--strict", "--no-dangling", cwd=path)
    with StoreReader(path) as reader:
        main, ledger = reader.main_head(), reader.ledger_head()
        benched = {
            c.trailers["Zoo-Submission"] for c in reader.commits("", main) if c.subject.startswith("bench:")
        }
        sources = {
            c.trailers["Zoo-Submission"] for c in reader.commits("", main) if c.subject.startswith("source:")
        }
        entered = {uuid for uuid, records in reader.ledger_entries("", ledger) if "decision.json" in records}
    assert benched == entered
    assert sources <= benched


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "kernel_data.git"
    create_store(path, "Test zoo")
    return path


@pytest.fixture
def writer(store: Path) -> Iterator[StoreWriter]:
    with StoreWriter(store, "Zoo", "zoo@example.org") as opened:
        yield opened


@pytest.fixture
def reader(store: Path) -> Iterator[StoreReader]:
    with StoreReader(store) as opened:
        yield opened


@pytest.fixture
def clone(store: Path, tmp_path: Path) -> Path:
    """A maintainer's own clone, from which main is pushed."""
    outside_git("clone", "-q", str(store), "clone", cwd=tmp_path)
    return tmp_path / "clone"


def push_file(clone: Path, name: str, content: str) -> None:
    """Commit one file and push it, again after a pull if somebody else was faster."""
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text(content)
    outside_git("add", name, cwd=clone)
    outside_git("commit", "-q", "-m", f"Change {name}", cwd=clone)
    for _ in range(50):
        outside_git("pull", "-q", "--rebase", "origin", "main", cwd=clone)
        if outside_git("push", "-q", "--porcelain", "origin", "HEAD:main", cwd=clone, check=False) == "Done":
            return
    raise AssertionError("the push never got through")
