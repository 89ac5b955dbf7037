"""What one commit of main has for a kernel: its problem, its baseline, the version that stands, the scripts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from submissions.evaluation.decision import Standing
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.errors import Broken, Rejected
from submissions.kernel_package.files import BENCH_RESULT_PATH
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.package import Package, check_board, read_package
from submissions.kernel_store.reading import ProblemFiles, StoreReader


@dataclass(frozen=True)
class Contender:
    """A package that takes part in a sitting, with its files."""

    kernel_id: str
    digest: str
    files: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class Board:
    """One kernel's surroundings on main, all of them at the same commit."""

    store: StoreReader
    commit: str
    kernel_id: KernelId

    def problem(self) -> ProblemFiles:
        """Return the problem's files; raises Broken `store:problem-missing`."""
        files = self.store.problem_files(self.commit, self.kernel_id.problem)
        if files is None:
            message = f"main at {self.commit[:8]} has no problem {self.kernel_id.problem}"
            raise Broken("store:problem-missing", message)
        return files

    def baseline(self) -> Contender | None:
        """Return the board's reference_impl; None where there is no such board."""
        return self._package(self.kernel_id.board.baseline)

    def present(self) -> Contender | None:
        """Return the package under the kernel_id, measured or not; None where there is none."""
        return self._package(self.kernel_id)

    def standing(self) -> Contender | None:
        """Return the version to beat: what is measured at the present problem version, or None."""
        bench = self.bench_result()
        if bench is None or bench["status"] != "measured":
            return None
        is_current = bench["problem_version"] == self.problem().problem.version
        return self.present() if is_current else None

    def rival(self) -> Standing | None:
        """Return what the accept rule needs of the version to beat."""
        version = self.standing()
        if version is None:
            return None
        bench = self.bench_result() or {}
        return Standing(version.digest, is_measured=True, commit=bench.get("source_commit", ""))

    def bench_result(self) -> Mapping[str, Any] | None:
        """Return the standing figures under the kernel_id, in whatever status."""
        return self.store.bench_result(self.commit, self.kernel_id)

    def best_speedup(self) -> float | None:
        """Return the greatest measured speed-up on this board at the present problem version; None without one."""
        version = self.problem().problem.version
        figures = (
            self.store.bench_result(self.commit, kernel_id)
            for kernel_id in self.store.kernel_ids(self.commit, self.kernel_id.board)
        )
        measured = (
            figure["speedup"]["value"]
            for figure in figures
            if figure and figure["status"] == "measured" and figure["problem_version"] == version
        )
        return max(measured, default=None)

    def complete(self, package: bytes) -> Package:
        """Return a sent package, checked against the board and with the board's scripts; raises Rejected."""
        read = read_package(package, self.kernel_id)
        found = self.store.problem_files(self.commit, self.kernel_id.problem)
        baseline = self.baseline()
        complete = check_board(read, found.problem if found else None, baseline.files if baseline else None)
        if baseline is None:
            board = self.kernel_id.board
            message = f"there is no board {board}: main has no {board.baseline} to measure it against"
            raise Rejected("package:unknown-board", message, board=str(board))
        if self.kernel_id.is_baseline and complete.digest != baseline.digest:
            message = "a board's reference_impl belongs to the board: submit under a name of your own"
            raise Rejected("package:baseline-modified", message)
        return complete

    def _package(self, kernel_id: KernelId) -> Contender | None:
        files = self.store.files(self.commit, kernel_id)
        files.pop(BENCH_RESULT_PATH, None)
        return Contender(str(kernel_id), tree_digest(files), files) if files else None


def board_of(store: StoreReader, kernel_id: str, commit: str = "") -> Board:
    """Return the surroundings of a kernel at a commit, by default main's head."""
    return Board(store, commit or store.main_head(), KernelId.parse(kernel_id))
