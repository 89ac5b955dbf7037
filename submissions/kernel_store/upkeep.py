"""Keep the repository small and unblocked: few packs, a commit graph, no locks of the dead."""

import logging
import time
from pathlib import Path

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.git import Git

_log = logging.getLogger(__name__)

PACKS_AT_MOST = 100
STALE_LOCK_SECONDS = 60.0
_STALE_TEMPORARY_SECONDS = 3600.0


def tidy_if_due(git: Git) -> bool:
    """Roll the packs of single commits into larger ones once there are many; returns whether it did."""
    if sum(1 for _ in (git.git_dir / "objects/pack").glob("*.pack")) <= PACKS_AT_MOST:
        return False
    try:
        tidy(git)
    except Broken as error:
        # A slow store is better than a refused publication.
        _log.warning("the packs could not be tidied: %s", error)
        return False
    return True


def tidy(git: Git) -> None:
    """Pack geometrically, which loses no object, reachable or not, and refresh the commit graph."""
    git.run("repack", "--geometric=2", "-d", "-l", "-q", "--no-write-bitmap-index")
    git.run("commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress")


def clear_stale(git: Git, stale_seconds: float = STALE_LOCK_SECONDS) -> list[str]:
    """Remove ref locks and temporary packs whose git died; call it with the writer lock held. Returns the names.

    A live git holds a ref's lock for milliseconds, a push's too; what is older than a minute has no owner.
    """
    locks = [git.git_dir / name for name in ("packed-refs.lock", "HEAD.lock", "index.lock")]
    locks += (git.git_dir / "refs").rglob("*.lock")
    temporary = [*(git.git_dir / "objects/pack").glob("tmp_*"), *git.git_dir.glob("fast_import_crash_*")]
    now = time.time()
    limits = [(path, stale_seconds) for path in locks]
    limits += [(path, max(stale_seconds, _STALE_TEMPORARY_SECONDS)) for path in temporary]
    removed = []
    for path, seconds in limits:
        if _age(path, now) > seconds:
            path.unlink(missing_ok=True)
            removed.append(str(path.relative_to(git.git_dir)))
    return removed


def _age(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except FileNotFoundError:
        return -1.0
