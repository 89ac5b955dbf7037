"""Read the store at a commit: kernels, problems, figures, history, and the ledger's records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from submissions.kernel_package.description import Description, parse_description
from submissions.kernel_package.errors import Broken, Rejected
from submissions.kernel_package.names import PROBLEMS_FOLDER, BoardId, KernelId, ProblemId
from submissions.kernel_package.problem import Problem, parse_problem
from submissions.kernel_package.strict_yaml import load_yaml
from submissions.kernel_store import layout
from submissions.kernel_store.cat_file import CatFile
from submissions.kernel_store.git import Git
from submissions.kernel_store.history import Commit, History
from submissions.kernel_store.ledger import Ledger, Records
from submissions.kernel_store.trees import Trees

T = TypeVar("T")


@dataclass(frozen=True)
class ProblemFiles:
    """A problem's contract and its reference, as bytes and parsed."""

    problem_yaml: bytes
    reference_py: bytes
    problem: Problem


class StoreReader:
    """The read side. Share one per process: it is thread-safe, survives forks, and keeps one git process."""

    def __init__(self, path: Path | str) -> None:
        self.git = Git(path)
        self._objects = CatFile(self.git)
        self.trees = Trees(self.git, self._objects)
        self.history = History(self.git, self._objects)
        self.ledger = Ledger(self.trees)

    def close(self) -> None:
        self._objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def main_head(self) -> str:
        """Return the commit `main` stands at; "" while there is none."""
        return self.history.head(layout.MAIN)

    def ledger_head(self) -> str:
        """Return the commit `ledger` stands at; "" while there is none."""
        return self.history.head(layout.LEDGER)

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file's bytes at a commit; None if it is not there."""
        return self.trees.read(commit, path) if commit else None

    def kernel_ids(self, commit: str, board: BoardId | None = None) -> list[KernelId]:
        """Return every kernel at a commit, or of one board, sorted; passes over folders with impossible names."""
        suffix = f"/{layout.DESCRIPTION}"
        folder = "" if board is None else str(board)
        paths = (entry.path for entry in self.trees.walk(commit, folder)) if commit else ()
        names = (path.removesuffix(suffix) for path in paths if path.endswith(suffix))
        return sorted(found for name in names if (found := _named(KernelId.parse, name)))

    def files(self, commit: str, kernel_id: KernelId) -> dict[str, bytes]:
        """Return a package's files, bench_result.yaml included; {} if the kernel is not there."""
        return self.trees.files(commit, layout.package_folder(kernel_id)) if commit else {}

    def packages(self, commit: str) -> Iterator[tuple[KernelId, dict[str, bytes]]]:
        """Yield (kernel_id, its .kernel_package files) of every kernel at a commit, in one fast pass."""
        yield from _grouped(self.trees, commit)

    def problem_ids(self, commit: str) -> list[ProblemId]:
        """Return every problem at a commit, sorted."""
        prefix, suffix = f"{PROBLEMS_FOLDER}/", f"/{layout.PROBLEM_FILE}"
        paths = (entry.path for entry in self.trees.walk(commit, PROBLEMS_FOLDER)) if commit else ()
        names = (path.removeprefix(prefix).removesuffix(suffix) for path in paths if path.endswith(suffix))
        return sorted(found for name in names if (found := _named(ProblemId.parse, name)))

    def problem_files(self, commit: str, problem_id: ProblemId) -> ProblemFiles | None:
        """Return a problem's contract and reference; None if unknown; raises Broken `store:unreadable`."""
        folder = layout.problem_folder(problem_id)
        contract = self.read(commit, f"{folder}/{layout.PROBLEM_FILE}")
        reference = self.read(commit, f"{folder}/{layout.REFERENCE_FILE}")
        if contract is None or reference is None:
            return None
        return ProblemFiles(contract, reference, _problem(contract, problem_id))

    def bench_result(self, commit: str, kernel_id: KernelId) -> dict[str, Any] | None:
        """Return a kernel's scoreboard; None if it has none; raises Broken `store:unreadable`."""
        path = f"{layout.package_folder(kernel_id)}/{layout.BENCH_RESULT}"
        content = self.read(commit, path)
        if content is None:
            return None
        document = _ours(load_yaml, content, path)
        if not isinstance(document, dict):
            raise Broken("store:unreadable", f"{path} is not a mapping; restore it from git's history")
        return document

    def description(self, commit: str, kernel_id: KernelId) -> Description | None:
        """Return a kernel's parsed desc.yaml; None if it is not there; raises Broken `store:unreadable`."""
        content = self.read(commit, f"{layout.package_folder(kernel_id)}/{layout.DESCRIPTION}")
        return None if content is None else _ours(parse_description, content)

    def commits(self, old: str, new: str) -> list[Commit]:
        """Return the commits after `old` ("" for all) up to `new`, oldest first; of main or of the ledger."""
        return self.history.between(old, new) if new else []

    def changed_paths(self, old: str, new: str) -> list[str]:
        """Return the paths that differ between two commits; `old` may be "" for every path."""
        return list(self.trees.changed(old, new)) if new else []

    def kernel_history(self, kernel_id: KernelId, limit: int = 100) -> list[Commit]:
        """Return the newest commits on main that changed a kernel, newest first."""
        head = self.main_head()
        return self.history.of_folder(head, layout.package_folder(kernel_id), limit) if head else []

    def source_commit_of(self, kernel_id: KernelId, commit: str = "") -> str:
        """Return the newest commit, up to `commit` or main's head, that changed a kernel's source; "" if none."""
        head = commit or self.main_head()
        return self.history.last_source_commit(head, kernel_id) if head else ""

    def resolve(self, text: str) -> str:
        """Return the full id of a commit of main given by 7 to 40 digits; "" if main has none such."""
        return self.history.resolve(text)

    def is_ancestor(self, older: str, newer: str) -> bool:
        return self.history.is_ancestor(older, newer)

    def ledger_entry(self, received_at: datetime, uuid: str) -> Records:
        """Return an entry's records by name at the ledger's head; {} if it has no such entry."""
        return self.ledger.entry(self.ledger_head(), received_at, uuid)

    def ledger_source(self, received_at: datetime, uuid: str) -> dict[str, bytes]:
        """Return the submitted tree of an entry at the ledger's head; {} if it kept none."""
        return self.ledger.source(self.ledger_head(), received_at, uuid)

    def ledger_entries(self, old: str, new: str) -> Iterator[tuple[str, Records]]:
        """Yield (uuid, all its records) of each entry that changed between two ledger heads."""
        return self.ledger.entries(old, new)

    def moderation(self, old: str, new: str) -> Iterator[tuple[str, bytes]]:
        """Yield (uuid, document) of the moderation files changed between two ledger heads."""
        return self.ledger.moderation(old, new)


def _grouped(trees: Trees, commit: str) -> Iterator[tuple[KernelId, dict[str, bytes]]]:
    if not commit:
        return
    marker = "/.kernel_package/"
    entries = [entry for entry in trees.walk(commit) if marker in entry.path]
    current, files = "", dict[str, bytes]()
    for path, content in trees.contents(entries):
        folder, _, name = path.partition(marker)
        if folder != current:
            yield from _package(current, files)
            current, files = folder, {}
        files[f".kernel_package/{name}"] = content
    yield from _package(current, files)


def _package(folder: str, files: dict[str, bytes]) -> Iterator[tuple[KernelId, dict[str, bytes]]]:
    kernel_id = _named(KernelId.parse, folder) if layout.DESCRIPTION in files else None
    if kernel_id is not None:
        yield kernel_id, files


def _named(parse: Callable[[str], T], name: str) -> T | None:
    try:
        return parse(name)
    except Rejected:
        return None


@lru_cache(maxsize=512)
def _problem(contract: bytes, problem_id: ProblemId) -> Problem:
    return _ours(parse_problem, contract, problem_id)


def _ours(parse: Callable[..., T], *arguments: Any) -> T:
    """Parse what stands in the store: there a malformed file is our fault, not an entrant's."""
    try:
        return parse(*arguments)
    except Rejected as error:
        raise Broken(
            "store:unreadable", f"a file on main cannot be read: {error.message}", cause=error.code
        ) from error
