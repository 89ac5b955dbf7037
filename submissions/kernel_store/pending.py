"""Read back what was prepared, from the private refs alone: a crash leaves nothing else."""

from collections.abc import Mapping
from itertools import groupby

from submissions.kernel_store import layout
from submissions.kernel_store.history import History
from submissions.kernel_store.publication import Prepared


def prepared(refs: Mapping[str, str], history: History) -> list[Prepared]:
    """Return what {pending ref: commit} says was prepared, oldest uuid order, halves included."""
    found = []
    for uuid, names in groupby(sorted(refs), key=lambda ref: ref.removeprefix(layout.PENDING).split("/")[1]):
        by_branch = {name.rsplit("/", 1)[1]: refs[name] for name in names}
        found.append(_prepared(uuid, by_branch.get("main", ""), by_branch.get("ledger", ""), history))
    return found


def _prepared(uuid: str, bench: str, entry: str, history: History) -> Prepared:
    parent = _parent(bench, history)
    before = history.commit(parent) if parent else None
    if (
        before is not None
        and before.subject.startswith("source: ")
        and before.trailers.get("Zoo-Submission") == uuid
    ):
        return Prepared(uuid, _parent(parent, history), bench, _parent(entry, history), entry, parent)
    return Prepared(uuid, parent, bench, _parent(entry, history), entry, "")


def _parent(commit_id: str, history: History) -> str:
    commit = history.commit(commit_id) if commit_id else None
    return commit.parents[0] if commit is not None and commit.parents else ""
