"""Turn KERNEL_ZOO_DATABASE_URL into Django's database settings."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

# A deferred transaction that reads and then writes fails at once under contention in WAL; IMMEDIATE waits.
_SQLITE_OPTIONS = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA busy_timeout=20000",
}


def database_settings(url: str | None, home: Path) -> dict[str, Any]:
    """Return DATABASES["default"] for a sqlite:/// or postgres:// URL; without one, SQLite under home."""
    if url is None:
        return _sqlite(home / "zoo.sqlite3")
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(Path("/" + unquote(parts.path).lstrip("/")))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": None,
    }


def _sqlite(path: Path) -> dict[str, Any]:
    # CONN_MAX_AGE None: django-q2 closes "old" connections around each broker call, reopening costs half the rate.
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": _SQLITE_OPTIONS,
        "CONN_MAX_AGE": None,
    }
