"""A kernel's folder on disk as a package, under the same rules as an archive."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from submissions.kernel_package.archive import too_many_files
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import Tree, clean_path
from submissions.kernel_package.inflate import too_large
from submissions.kernel_package.limits import DEFAULT_LIMITS, PackageLimits


def read_folder(folder: Path, limits: PackageLimits = DEFAULT_LIMITS) -> dict[str, bytes]:
    """Return the files under `folder`; links and devices are refused, not followed; raises Rejected."""
    tree = Tree()
    total = 0
    for entry in _entries(folder):
        name = entry.relative_to(folder).as_posix()
        path = clean_path(name)
        if len(tree.files) >= limits.files:
            raise too_many_files(limits)
        content = _read(entry, name, limits.unpacked_bytes - total + 1)
        total += len(content)
        if total > limits.unpacked_bytes:
            raise too_large(limits)
        tree.add(path, content)
    return tree.files


def _entries(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            yield from _entries(entry)
        else:
            yield entry


def _read(entry: Path, name: str, size: int) -> bytes:
    mode = entry.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise Rejected("package:link", f"{name!r} is a symbolic link: put the file itself there", name=name)
    if not stat.S_ISREG(mode):
        raise Rejected("package:device", f"{name!r} is no plain file", name=name)
    descriptor = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(size)
