"""Built things, found by the digest of all that went into them, and verified by their own digest on every read."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

_SUMS = "sums.json"


def digest_of(*parts: bytes) -> str:
    """Return sha256 (hex) over the parts, each with its length, so that no two lists agree."""
    total = hashlib.sha256()
    for part in parts:
        total.update(b"%d:" % len(part))
        total.update(part)
    return total.hexdigest()


class ContentCache:
    """A folder of entries; an entry is a folder of files written at once and never changed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> Path | None:
        """Return the entry's folder, or None; an entry whose bytes have changed is removed."""
        folder = self._folder(key)
        if not (folder / _SUMS).is_file():
            return None
        if self._is_intact(folder):
            os.utime(folder)
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def put(self, key: str, files: Mapping[str, bytes]) -> Path:
        """Write an entry and return its folder; an intact one that is already there wins."""
        folder = self._folder(key)
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Readable by the sandbox's user, who is not ours.
        staging = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
        staging.chmod(0o755)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        for name, content in {**files, _SUMS: json.dumps(sums).encode()}.items():
            (staging / name).write_bytes(content)
            (staging / name).chmod(0o755)
        try:
            staging.rename(folder)
        except OSError:
            shutil.rmtree(staging, ignore_errors=True)
        return folder

    def trim(self, limit_bytes: int) -> None:
        """Remove the entries used longest ago until the rest fits."""
        entries = sorted(self._root.glob("??/*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
        total = 0
        for folder in entries:
            total += sum(path.stat().st_size for path in folder.iterdir())
            if total > limit_bytes:
                shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, key: str) -> Path:
        return self._root / key[:2] / key

    @staticmethod
    def _is_intact(folder: Path) -> bool:
        try:
            sums: dict[str, str] = json.loads((folder / _SUMS).read_bytes())
            return all(
                hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in sums.items()
            )
        except (OSError, ValueError):
            return False
