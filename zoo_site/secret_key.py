"""The key that signs sessions and task payloads: made once, kept in a file only we may read."""

import os
import secrets
from pathlib import Path


def kept_secret_key(folder: Path) -> str:
    """Return the key in `folder`, making it on first use; two first users agree on one key."""
    path = folder / "django_secret_key"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        draft = folder / f".django_secret_key.{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()
