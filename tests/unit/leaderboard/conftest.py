"""The cast: a real store in a temporary folder, a board to compete on, and who competes."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from submissions.kernel_package.strict_yaml import dump_yaml
from submissions.kernel_store.create import create_store
from submissions.kernel_store.writing import StoreWriter

from .documents import bench_document, desc_document, problem_document


class Zoo:
    """A store with shorthands for what maintainers and the walk write into it."""

    def __init__(self, path: Path) -> None:
        create_store(path, "Kernel Zoo in tests")
        self.path = path
        self.writer = StoreWriter(path, "Zoo", "zoo@localhost")

    def put(self, files: Mapping[str, bytes], subject: str = "change by hand") -> str:
        return self.writer.commit_files(files, subject, "")

    def remove(self, folder: str) -> str:
        """Remove a folder or a file as a maintainer's push would: by git, not by our own writer."""
        index = {"GIT_INDEX_FILE": str(self.path / "index-of-a-maintainer")}
        head = self.git("rev-parse", "main")
        self.git("read-tree", head, env=index)
        self.git("rm", "-r", "--cached", "--quiet", folder, env=index)
        tree = self.git("write-tree", env=index)
        commit = self.git("commit-tree", tree, "-p", head, "-m", f"remove {folder}")
        self.git("update-ref", "refs/heads/main", commit, head)
        return commit

    def git(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        identity = ["-c", "user.name=Maintainer", "-c", "user.email=maintainer@localhost"]
        command = ["git", f"--git-dir={self.path}", *identity, *arguments]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, **(env or {})}
        )
        return done.stdout.strip()

    def problem(self, problem_id: str = "Vector/saxpy/fp32", **changes: Any) -> str:
        folder = f"problems/{problem_id}"
        document = problem_document(**changes)
        files = {
            f"{folder}/problem.yaml": dump_yaml(document),
            f"{folder}/reference.py": b"def reference(): ...\n",
        }
        return self.put(files, f"problem {problem_id}")

    def kernel(self, kernel_id: str, **changes: Any) -> str:
        files = {
            f"{kernel_id}/.kernel_package/desc.yaml": dump_yaml(desc_document(kernel_id, **changes)),
            f"{kernel_id}/src/saxpy.cpp": b'extern "C" void saxpy() {}\n',
        }
        return self.put(files, f"source: {kernel_id}")

    def bench(self, kernel_id: str, speedup: float, half: float = 0.001, **changes: Any) -> str:
        document = bench_document(kernel_id, speedup, half, **changes)
        path = f"{kernel_id}/.kernel_package/bench_result.yaml"
        return self.put({path: dump_yaml(document)}, f"bench: {kernel_id} {speedup:.3f}")

    def measured(self, kernel_id: str, speedup: float, half: float = 0.001, **changes: Any) -> str:
        self.kernel(kernel_id)
        return self.bench(kernel_id, speedup, half, **changes)


@pytest.fixture
def zoo(tmp_path, settings, db) -> Zoo:
    settings.KERNEL_REPO_PATH = tmp_path / "kernel_data.git"
    settings.INDEX_PATH = tmp_path / "index.json"
    settings.RUN_DIR = tmp_path / "run"
    return Zoo(settings.KERNEL_REPO_PATH)


@pytest.fixture
def board(zoo) -> Zoo:
    """A board whose baseline is measured."""
    zoo.problem()
    zoo.measured("x86_64/Vector/saxpy/fp32/reference_impl", 1.0)
    return zoo
