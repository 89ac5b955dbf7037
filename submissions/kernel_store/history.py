"""The commits of a branch, oldest first, with their trailers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId
from submissions.kernel_store import layout
from submissions.kernel_store.cat_file import CatFile, GitObject
from submissions.kernel_store.git import Git, check_object_id, is_object_id
from submissions.kernel_store.message import parse_message

_COMMITTER_TIME = re.compile(r"> (\d+) [+-]\d{4}$")


@dataclass(frozen=True)
class Commit:
    """One commit; `time` is the committer's, in UTC."""

    id: str
    parents: tuple[str, ...]
    tree: str
    author: str
    subject: str
    body: str
    trailers: dict[str, str]
    time: datetime
    message: bytes


class History:
    """Questions about commits and their order."""

    def __init__(self, git: Git, objects: CatFile) -> None:
        self._git = git
        self._objects = objects

    def head(self, ref: str) -> str:
        """Return the commit a ref stands at; "" if there is no such ref."""
        found = self._objects.get(f"{ref}^{{commit}}")
        return found.id if found is not None else ""

    def commit(self, commit_id: str) -> Commit | None:
        """Return one commit; None if there is no commit of this id."""
        found = self._objects.get(check_object_id(commit_id))
        return parse_commit(found) if found is not None and found.kind == "commit" else None

    def between(self, old: str, new: str) -> list[Commit]:
        """Return the commits reachable from `new` and not from `old` ("" for all), oldest first."""
        span = [f"^{check_object_id(old)}"] if old else []
        return list(self._parsed(self._list("--topo-order", "--reverse", check_object_id(new), *span)))

    def of_folder(self, commit: str, folder: str, limit: int) -> list[Commit]:
        """Return the newest commits that changed a folder, newest first."""
        return list(self._parsed(self._list(f"--max-count={limit}", check_object_id(commit), "--", folder)))

    def last_source_commit(self, commit: str, kernel_id: KernelId) -> str:
        """Return the newest commit that changed a package's files other than its figures; "" if none did."""
        folder = layout.package_folder(kernel_id)
        scope = (folder, f":(exclude){folder}/{layout.BENCH_RESULT}")
        found = self._list("--max-count=1", check_object_id(commit), "--", *scope)
        return found[0] if found else ""

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` contains `older`; a commit contains itself."""
        ids = (check_object_id(older), check_object_id(newer))
        done = self._git.attempt("merge-base", "--is-ancestor", *ids)
        if done.returncode not in (0, 1):
            raise Broken("store:unknown-commit", f"{older} or {newer} is no commit of this store")
        return done.returncode == 0

    def resolve(self, text: str, branch: str = layout.MAIN) -> str:
        """Return the full id of a published commit given by 7 to 40 digits; "" if the branch has none such."""
        if not re.fullmatch(r"[0-9a-f]{7,40}", text):
            return ""
        found = self._objects.get(text if is_object_id(text) else f"{text}^{{commit}}")
        head = self.head(branch)
        if found is None or found.kind != "commit" or not head:
            return ""
        # Commits under refs/zoo/pending exist too, but are nobody's business until they are published.
        return found.id if self.is_ancestor(found.id, head) else ""

    def _list(self, *arguments: str) -> list[str]:
        done = self._git.attempt("rev-list", *arguments)
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip()[-500:]
            raise Broken("store:unknown-commit", f"the history cannot be listed: {words}")
        return done.stdout.decode().split()

    def _parsed(self, ids: list[str]) -> Iterator[Commit]:
        for found in self._objects.get_all(ids):
            if found is not None and found.kind == "commit":
                yield parse_commit(found)


def parse_commit(found: GitObject) -> Commit:
    """Read a commit object."""
    head, _, message = found.content.decode("utf-8", "replace").partition("\n\n")
    # Continuation lines (of a signature) begin with a blank and never name a field.
    fields = [line.split(" ", 1) for line in head.split("\n") if line and not line.startswith(" ")]
    pairs = [(field[0], field[1]) for field in fields if len(field) == 2]
    named = dict(reversed(pairs))
    match = _COMMITTER_TIME.search(named.get("committer", ""))
    seconds = min(int(match[1]), _LAST_SECOND) if match else 0
    subject, body, trailers = parse_message(message)
    return Commit(
        id=found.id,
        parents=tuple(value for name, value in pairs if name == "parent"),
        tree=named["tree"],
        author=named.get("author", "").partition(" <")[0],
        subject=subject,
        body=body,
        trailers=trailers,
        time=datetime.fromtimestamp(seconds, UTC),
        message=found.content.partition(b"\n\n")[2],
    )


_LAST_SECOND = 253402300799  # 9999-12-31: a later forged date would overflow datetime
