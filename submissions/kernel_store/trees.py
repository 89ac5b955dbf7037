"""Files of a commit: one by path, one folder's, or all of them at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from submissions.kernel_store.cat_file import CatFile
from submissions.kernel_store.git import Git, check_object_id

_FILE_MODES = frozenset({b"100644", b"100755", b"100664"})
_FOLDER_MODE = b"40000"


@dataclass(frozen=True)
class Entry:
    """One regular file in a tree; links and submodules, which others may have pushed, are left out everywhere."""

    path: str
    id: str


class Trees:
    """Listing and reading of files at a commit."""

    def __init__(self, git: Git, objects: CatFile) -> None:
        self._git = git
        self._objects = objects

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file's bytes; None if the commit has no such file."""
        found = self._objects.get(f"{check_object_id(commit)}:{path}")
        return found.content if found is not None and found.kind == "blob" else None

    def walk(self, commit: str, folder: str = "") -> Iterator[Entry]:
        """Yield every file at or under `folder`, in git's order."""
        scope = ("--", f"{folder}/") if folder else ()
        for record in self._git.records("ls-tree", "-r", "-z", "--full-tree", check_object_id(commit), *scope):
            head, _, path = record.partition(b"\t")
            mode, _, object_id = head.split(b" ")
            if mode in _FILE_MODES:
                yield Entry(path.decode("utf-8", "surrogateescape"), object_id.decode())

    def changed(self, old: str, new: str) -> Iterator[str]:
        """Yield the paths whose content differs between two commits, deleted ones included; `old` may be ""."""
        if not old:
            yield from (entry.path for entry in self.walk(new))
            return
        ids = (check_object_id(old), check_object_id(new))
        flags = ("-r", "-z", "--no-renames", "--no-ext-diff", "--name-only")
        for record in self._git.records("diff-tree", *flags, *ids):
            yield record.decode("utf-8", "surrogateescape")

    def folder(self, commit: str, folder: str) -> list[Entry]:
        """Return the files directly in a folder, by one question to the running process."""
        return [
            Entry(name, object_id) for name, mode, object_id in self._tree(commit, folder) if mode in _FILE_MODES
        ]

    def files(self, commit: str, folder: str) -> dict[str, bytes]:
        """Return every file under a folder, keyed by its path inside it; no process is started for it."""
        entries = sorted(self._below(commit, folder, ""), key=lambda entry: entry.path)
        return dict(self.contents(entries))

    def contents(self, entries: Iterable[Entry]) -> Iterator[tuple[str, bytes]]:
        """Yield (path, bytes) of entries, in their order."""
        listed = list(entries)
        for entry, found in zip(listed, self._objects.get_all(entry.id for entry in listed), strict=True):
            if found is not None:
                yield entry.path, found.content

    def _below(self, commit: str, folder: str, prefix: str) -> Iterator[Entry]:
        for name, mode, object_id in self._tree(commit, folder):
            if mode == _FOLDER_MODE:
                yield from self._below(commit, f"{folder}/{name}", f"{prefix}{name}/")
            elif mode in _FILE_MODES:
                yield Entry(prefix + name, object_id)

    def _tree(self, commit: str, folder: str) -> list[tuple[str, bytes, str]]:
        found = self._objects.get(f"{check_object_id(commit)}:{folder}")
        return parse_tree(found.content) if found is not None and found.kind == "tree" else []


def parse_tree(content: bytes) -> list[tuple[str, bytes, str]]:
    """Return (name, mode, id) of each entry of a tree object."""
    entries = []
    position = 0
    while position < len(content):
        blank = content.index(b" ", position)
        end = content.index(b"\0", blank)
        name = content[blank + 1 : end].decode("utf-8", "surrogateescape")
        entries.append((name, content[position:blank], content[end + 1 : end + 21].hex()))
        position = end + 21
    return entries
