"""What a write changes in the trees: a package replaced whole, a ledger entry, or a commit made anew elsewhere."""

from submissions.kernel_package.errors import Broken
from submissions.kernel_store import layout
from submissions.kernel_store.fast_import import Changes
from submissions.kernel_store.publication import LedgerEntry, Publication
from submissions.kernel_store.reading import StoreReader


def of_package(reader: StoreReader, main: str, publication: Publication) -> Changes | None:
    """Return the source commit's changes: the folder anew, its figures kept; None if the source stays."""
    if publication.package_files is None:
        return None
    present = reader.files(main, publication.kernel_id)
    figures = present.pop(layout.BENCH_RESULT, None)
    wanted = {path: content for path, content in publication.package_files.items() if path != layout.BENCH_RESULT}
    if present == wanted:
        return None
    if figures is not None:
        # Kept until the next commit, so that the history of the figures is a history and not a row of deletions.
        wanted[layout.BENCH_RESULT] = figures
    folder = layout.package_folder(publication.kernel_id)
    return Changes({f"{folder}/{path}": content for path, content in wanted.items()}, removed_folders=(folder,))


def of_entry(entry: LedgerEntry) -> Changes:
    """Return the changes that write a ledger entry; a source given replaces the one that stands there."""
    folder = layout.ledger_folder(entry.received_at, entry.uuid)
    files = {f"{folder}/{layout.check_record_name(name)}": content for name, content in entry.records.items()}
    if entry.source is None:
        return Changes(files)
    source = f"{folder}/{layout.SOURCE_FOLDER}"
    files |= {f"{source}/{path}": content for path, content in entry.source.items()}
    return Changes(files, removed_folders=(source,))


def of_commit(reader: StoreReader, commit_id: str) -> tuple[bytes, Changes]:
    """Return the message and the changes of a commit, to make them again on another parent."""
    commit = reader.history.commit(commit_id)
    if commit is None:
        raise Broken("store:unknown-commit", f"{commit_id} is no commit of this store")
    files: dict[str, bytes] = {}
    removed = []
    for path in reader.changed_paths(commit.parents[0] if commit.parents else "", commit_id):
        content = reader.read(commit_id, path)
        if content is None:
            removed.append(path)
        else:
            files[path] = content
    return commit.message, Changes(files, removed_files=tuple(removed))


def missing(reader: StoreReader, head: str, changed: Changes) -> Changes | None:
    """Return the changes if any of them would change the tree at `head`; None if all stands there already."""
    kept = set(changed.files)
    for folder in changed.removed_folders:
        present = reader.trees.files(head, folder) if head else {}
        if any(f"{folder}/{path}" not in kept for path in present):
            return changed
    if any(reader.read(head, path) is not None for path in changed.removed_files):
        return changed
    if all(reader.read(head, path) == content for path, content in changed.files.items()):
        return None
    return changed
