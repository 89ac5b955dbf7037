"""The store as settings name it: one reader and one writer per process, each with its one git process."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter


def reader() -> StoreReader:
    """Return the read side of the site's store."""
    return _reader(settings.KERNEL_REPO_PATH)


def writer() -> StoreWriter:
    """Return the write side of the site's store."""
    return _writer(settings.KERNEL_REPO_PATH, settings.GIT_AUTHOR_NAME, settings.GIT_AUTHOR_EMAIL)


@lru_cache(maxsize=1)
def _reader(path: Path) -> StoreReader:
    return StoreReader(path)


@lru_cache(maxsize=1)
def _writer(path: Path, author_name: str, author_email: str) -> StoreWriter:
    return StoreWriter(path, author_name, author_email)
