"""Brings result files out of a place where submitted code could write, trusting nothing it finds there."""

import os
import stat
from pathlib import Path

from native_bench.sandbox.interface import OutputRefused

MAX_FILES = 256
MAX_DEPTH = 8
_CHUNK_BYTES = 1 << 20
# A fifo would block an ordinary open for ever, a link would make a root reader open any host file.
_WARY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_output(folder: Path, name: str, max_bytes: int) -> bytes:
    """Read one regular file directly in `folder`. Raises OutputRefused."""
    if name in ("", ".", "..") or "/" in name:
        raise OutputRefused(f"{name!r} is not the name of a result file")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _read_at(descriptor, name, max_bytes)
    finally:
        os.close(descriptor)


def deliver(inside: int, folder: Path, max_file_bytes: int, max_bytes: int) -> None:
    """Copy the regular files under the open folder `inside` into `folder`, never following a link.

    Raises OutputRefused when they are more, larger or deeper than the limits allow; links, fifos and
    sockets are left behind.
    """
    left = max_bytes
    count = 0
    for path, names, files, at in os.fwalk(".", dir_fd=inside, follow_symlinks=False):
        depth = len(Path(path).parts)
        if depth > MAX_DEPTH:
            raise OutputRefused(f"folders of results are nested deeper than {MAX_DEPTH}")
        target = folder / path
        target.mkdir(exist_ok=True)
        count += len(names) + len(files)
        if count > MAX_FILES:
            raise OutputRefused(f"more than {MAX_FILES} result files")
        for name in files:
            if not stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                continue
            content = _read_at(at, name, min(max_file_bytes, left))
            left -= len(content)
            _write(target / name, content)


def _read_at(folder: int, name: str, max_bytes: int) -> bytes:
    try:
        descriptor = os.open(name, _WARY, dir_fd=folder)
    except FileNotFoundError as error:
        raise OutputRefused(f"result file {name} is missing") from error
    except OSError as error:
        raise OutputRefused(f"result file {name} is not a regular file: {error.strerror}") from error
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OutputRefused(f"result file {name} is not a regular file")
        content = b"" if about.st_size > max_bytes else _read_all(descriptor, max_bytes + 1)
    finally:
        os.close(descriptor)
    if about.st_size > max_bytes or len(content) > max_bytes:
        raise OutputRefused(f"result file {name} is larger than {max_bytes} bytes")
    return content


def _read_all(descriptor: int, max_bytes: int) -> bytes:
    content = bytearray()
    while chunk := os.read(descriptor, min(_CHUNK_BYTES, max_bytes - len(content))):
        content += chunk
    return bytes(content)


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
