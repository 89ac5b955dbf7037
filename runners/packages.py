"""Packages by digest, as runners fetch them: one tar.gz each, written whole, verified at each read.

A cache: whatever is missing or damaged is made again when a claim is answered.
"""

import os
import re
import secrets
from pathlib import Path

from django.conf import settings

from submissions.kernel_package.archive import read_archive, write_archive
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.errors import Broken, ZooError
from submissions.kernel_package.files import Files
from submissions.kernel_package.limits import TRUSTED_LIMITS

_DIGEST = re.compile(r"[0-9a-f]{64}")


def keep(digest: str, files: Files) -> None:
    """Have the package under its digest; raises Broken where the files have another one."""
    found = tree_digest(files)
    if found != digest:
        raise Broken("runner:package-digest", f"the files have digest {found[:12]}, not {digest[:12]}")
    if not is_kept(digest):
        _write(_path(digest), write_archive(files))


def is_kept(digest: str) -> bool:
    """True where an undamaged package lies under the digest."""
    try:
        read(digest)
    except Broken:
        return False
    return True


def read(digest: str) -> bytes:
    """Return the package's tar.gz; raises Broken `runner:package-missing` where it is absent or damaged."""
    try:
        data = _path(digest).read_bytes()
        is_sound = tree_digest(read_archive(data, TRUSTED_LIMITS)) == digest
    except (OSError, ZooError):
        is_sound = False
    if not is_sound:
        raise Broken("runner:package-missing", f"package {digest[:12]} is not here, or damaged; claim again")
    return data


def _path(digest: str) -> Path:
    if not _DIGEST.fullmatch(digest):
        raise Broken("runner:package-missing", "a package is named by 64 hexadecimal digits")
    return Path(settings.PACKAGES_DIR) / f"{digest}.tar.gz"


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
