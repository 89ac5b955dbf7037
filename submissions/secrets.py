"""Secrets that decide hidden inputs: kept in files of mode 0600, never in a row, a log or an answer."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from uuid import UUID

from django.conf import settings

from submissions.kernel_package.names import ProblemId

SECRET_BYTES = 32


def run_secret(run_id: UUID, epoch: int) -> bytes:
    """Return the secret of one lease of a run: the same when asked again, another for each epoch."""
    return hmac.digest(_kept_secret("runs"), f"{run_id}|{epoch}".encode(), "sha256")


def run_secret_sha256(run_id: UUID, epoch: int) -> str:
    """Return what a run record may say of the run's secret."""
    return hashlib.sha256(run_secret(run_id, epoch)).hexdigest()


def version_secret(problem_id: ProblemId, version: int) -> bytes:
    """Return the secret of one version of a problem, from which its hidden cases are drawn."""
    name = str(problem_id).replace("/", "~")
    return _kept_secret(f"{name}~v{version}")


def _kept_secret(name: str) -> bytes:
    path = Path(settings.SECRETS_DIR) / name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return _made_secret(path)


def _made_secret(path: Path) -> bytes:
    # Written whole under another name, then linked: of two processes that start together one
    # wins, and neither ever reads a half-written secret.
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(SECRET_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_bytes()
