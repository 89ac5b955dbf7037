"""Read the ledger: the records of every finished submission, sweep and recheck, and moderation."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

from submissions.kernel_store import layout
from submissions.kernel_store.trees import Entry, Trees

Records = dict[str, bytes]
_ENTRIES_AT_ONCE = 200


class Ledger:
    """Entries by their folder, or all that changed between two heads."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    def entry(self, head: str, received_at: datetime, uuid: str) -> Records:
        """Return an entry's records by name; {} if the ledger has no such entry."""
        if not head:
            return {}
        return self._records(head, layout.ledger_folder(received_at, uuid))

    def source(self, head: str, received_at: datetime, uuid: str) -> dict[str, bytes]:
        """Return the submitted tree of an entry; {} if it kept none."""
        if not head:
            return {}
        return self._trees.files(head, f"{layout.ledger_folder(received_at, uuid)}/{layout.SOURCE_FOLDER}")

    def entries(self, old: str, new: str) -> Iterator[tuple[str, Records]]:
        """Yield (uuid, all its records) of each entry that changed between two ledger heads; `old` may be ""."""
        if not new:
            return
        if not old:
            yield from self._all(new)
            return
        seen: dict[str, None] = dict.fromkeys(
            folder for path in self._trees.changed(old, new) if (folder := _entry_folder(path))
        )
        for folder in seen:
            if records := self._records(new, folder):
                yield folder.rsplit("/", 1)[1], records

    def moderation(self, old: str, new: str) -> Iterator[tuple[str, bytes]]:
        """Yield (uuid, document) of the moderation files changed between two ledger heads."""
        prefix = f"{layout.MODERATION_FOLDER}/"
        if not new:
            return
        paths: Iterable[str]
        if old:
            paths = [path for path in self._trees.changed(old, new) if path.startswith(prefix)]
        else:
            paths = [entry.path for entry in self._trees.walk(new, layout.MODERATION_FOLDER)]
        for path in paths:
            content = self._trees.read(new, path)
            if content is not None and path.endswith(".json"):
                yield path.removeprefix(prefix).removesuffix(".json"), content

    def _records(self, head: str, folder: str) -> Records:
        records = [entry for entry in self._trees.folder(head, folder) if entry.path.endswith(".json")]
        return dict(self._trees.contents(records))

    def _all(self, head: str) -> Iterator[tuple[str, Records]]:
        waiting: list[tuple[str, list[Entry]]] = []
        by_folder = groupby(self._trees.walk(head), key=lambda entry: _entry_folder(entry.path))
        for folder, group in by_folder:
            records = [entry for entry in group if _is_record(entry.path)]
            if folder and records:
                waiting.append((folder.rsplit("/", 1)[1], records))
            if len(waiting) >= _ENTRIES_AT_ONCE:
                yield from self._loaded(waiting)
                waiting = []
        yield from self._loaded(waiting)

    def _loaded(self, waiting: list[tuple[str, list[Entry]]]) -> Iterator[tuple[str, Records]]:
        contents = dict(self._trees.contents(entry for _, records in waiting for entry in records))
        for uuid, records in waiting:
            yield uuid, {entry.path.rsplit("/", 1)[1]: contents[entry.path] for entry in records}


def _entry_folder(path: str) -> str:
    """Return `yyyy/mm/dd/uuid` of a path in the ledger; "" for anything else there."""
    parts = path.split("/")
    is_dated = len(parts) >= 5 and all(part.isdigit() for part in parts[:3])
    return "/".join(parts[:4]) if is_dated else ""


def _is_record(path: str) -> bool:
    return path.count("/") == 4 and path.endswith(".json")
