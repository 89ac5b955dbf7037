"""The spool: every upload lies here, fsynced, from before its 202 until its end is in the ledger."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from submissions.kernel_package.errors import Broken

PACKAGE_NAME = "package.tar.gz"
META_NAME = "meta.json"
_DRAFT_PREFIX = ".draft-"


def keep(submission_id: UUID, package: bytes, meta: Mapping[str, Any]) -> None:
    """Put an upload into the spool; when this returns it survives a loss of power."""
    root = _root()
    root.mkdir(parents=True, exist_ok=True)
    draft = root / f"{_DRAFT_PREFIX}{submission_id}"
    draft.mkdir()
    _write(draft / PACKAGE_NAME, package)
    _write(draft / META_NAME, json.dumps(meta, sort_keys=True).encode())
    _sync_folder(draft)
    # Renamed when whole: a reader of the spool never meets half an upload.
    draft.rename(root / str(submission_id))
    _sync_folder(root)


def package_bytes(submission_id: UUID) -> bytes:
    """Return the package as sent; raises Broken `spool:missing`."""
    return _read(submission_id, PACKAGE_NAME)


def meta(submission_id: UUID) -> dict[str, Any]:
    """Return what came with the package; raises Broken `spool:missing`."""
    document: dict[str, Any] = json.loads(_read(submission_id, META_NAME))
    return document


def discard(submission_id: UUID) -> None:
    """Forget an upload, once the ledger has it or its sender was told that it failed."""
    shutil.rmtree(_root() / str(submission_id), ignore_errors=True)


def waiting() -> Iterator[UUID]:
    """Yield every whole upload in the spool."""
    for folder in sorted(_root().glob("[0-9a-f]*")):
        try:
            yield UUID(folder.name)
        except ValueError:
            continue


def drafts() -> Iterator[Path]:
    """Yield what was cut off while being written: its sender never got an answer."""
    yield from _root().glob(f"{_DRAFT_PREFIX}*")


def _root() -> Path:
    return Path(settings.QUEUE_DIR)


def _read(submission_id: UUID, name: str) -> bytes:
    try:
        return (_root() / str(submission_id) / name).read_bytes()
    except FileNotFoundError as error:
        message = f"the spool has lost {name} of submission {submission_id}"
        raise Broken("spool:missing", message) from error


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
