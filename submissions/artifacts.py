"""Artifacts: logs and samples too big for the ledger, kept as files named by their own sha256."""

import hashlib
import os
from pathlib import Path
from secrets import token_hex

from django.conf import settings


def keep(content: bytes) -> str:
    """Keep a file and return its sha256; keeping it again changes nothing."""
    digest = hashlib.sha256(content).hexdigest()
    path = _path(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{digest}.{token_hex(8)}")
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    return digest


def read(digest: str) -> bytes | None:
    """Return an artifact, or None where it is gone: artifacts are outside the byte-for-byte promise."""
    try:
        return _path(digest).read_bytes()
    except FileNotFoundError:
        return None


def _path(digest: str) -> Path:
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError(f"{digest!r} is not a sha256")
    return Path(settings.ARTIFACTS_DIR) / digest
