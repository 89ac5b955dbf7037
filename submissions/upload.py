"""Step 1: take an upload. Its bytes are safe in the spool before its row, and its row before the answer."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone

from submissions import spool, tasks
from submissions.authentication import Submitter
from submissions.kernel_package.errors import Broken, Rejected
from submissions.kernel_package.limits import DEFAULT_LIMITS
from submissions.kernel_package.names import KernelId
from submissions.lifecycle import note
from submissions.live import QUEUE, announce
from submissions.models import Mode, State, Submission
from submissions.quota import require_quota

_MESSAGE_CHARS = 500
_KEY_CHARS = 200


@dataclass(frozen=True)
class Upload:
    """What an entrant sends."""

    kernel_id: str
    package: bytes = field(repr=False)
    mode: str = Mode.RANKED
    message: str = ""
    idempotency_key: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.package).hexdigest()


def receive_upload(submitter: Submitter, upload: Upload) -> Submission:
    """Take an upload and return its submission; one that was sent before under its key is returned again.

    Raises Rejected: `upload:…` for a bad field, `package:kernel-id`, `package:too-large`, `quota:…`.
    """
    _refuse_bad_fields(upload)
    known = _sent_before(submitter, upload)
    if known is not None:
        return known
    require_quota(submitter)
    submission_id = uuid4()
    meta = _meta(submitter, upload, timezone.now())
    spool.keep(submission_id, upload.package, meta)
    try:
        return insert_row(submission_id, meta)
    except IntegrityError:
        return _winner(submission_id, submitter, upload)


def insert_row(submission_id: UUID, meta: Mapping[str, Any]) -> Submission:
    """Create the row of an upload that lies in the spool, and ask for its validation."""
    submission = unsaved_row(submission_id, meta)
    with transaction.atomic():
        submission.save(force_insert=True)
        note(submission.pk, "state", State.RECEIVED)
        transaction.on_commit(partial(tasks.enqueue_validate, submission.pk))
        transaction.on_commit(partial(announce, QUEUE))
    return submission


def unsaved_row(submission_id: UUID, meta: Mapping[str, Any]) -> Submission:
    """Return the row that an upload in the spool stands for, without writing it."""
    return Submission(uuid=submission_id, **{**meta, "received_at": datetime.fromisoformat(meta["received_at"])})


def _refuse_bad_fields(upload: Upload) -> None:
    KernelId.parse(upload.kernel_id)
    if upload.mode not in Mode.values:
        raise Rejected("upload:mode", f"{upload.mode!r} is no mode: use check, benchmark or ranked", field="mode")
    if not upload.package:
        raise Rejected("upload:package-missing", "the package is missing or empty: send a tar.gz", field="package")
    if len(upload.package) > DEFAULT_LIMITS.packed_bytes:
        raise too_large()
    if len(upload.message) > _MESSAGE_CHARS or "\0" in upload.message:
        message = f"the message exceeds {_MESSAGE_CHARS} characters, or holds a NUL"
        raise Rejected("upload:message", message, field="message")
    if len(upload.idempotency_key) > _KEY_CHARS or "\0" in upload.idempotency_key:
        message = f"an Idempotency-Key has at most {_KEY_CHARS} characters, and no NUL"
        raise Rejected("upload:idempotency-key", message, field="Idempotency-Key")


def too_large() -> Rejected:
    """Return the refusal of a package over the packed limit."""
    limit = DEFAULT_LIMITS.packed_bytes
    message = f"the package exceeds {limit} bytes: leave out what the build does not need"
    return Rejected("package:too-large", message, limit_bytes=limit)


def _sent_before(submitter: Submitter, upload: Upload) -> Submission | None:
    if not upload.idempotency_key:
        return None
    known = Submission.objects.by(submitter.name).filter(idempotency_key=upload.idempotency_key).first()
    if known is None:
        return None
    same = (known.kernel_id, known.package_sha256, known.mode, known.message, known.submitter_is_verified)
    if same != (upload.kernel_id, upload.sha256, upload.mode, upload.message, submitter.is_verified):
        message = "this Idempotency-Key was used for another upload: use a new key for a new upload"
        raise Rejected("upload:idempotency-conflict", message, submission=str(known.pk))
    return known


def _winner(submission_id: UUID, submitter: Submitter, upload: Upload) -> Submission:
    # Either recovery met the spool before us and made this very row, or the same key came twice at once.
    restored = Submission.objects.filter(pk=submission_id).first()
    if restored is not None:
        return restored
    spool.discard(submission_id)
    winner = _sent_before(submitter, upload)
    if winner is None:
        raise Broken("upload:row-refused", "the database refused the submission's row; send it again")
    return winner


def _meta(submitter: Submitter, upload: Upload, received_at: datetime) -> dict[str, Any]:
    return {
        "kernel_id": upload.kernel_id,
        "submitter": submitter.name,
        "submitter_is_verified": submitter.is_verified,
        "mode": str(upload.mode),
        "message": upload.message,
        "idempotency_key": upload.idempotency_key,
        "package_sha256": upload.sha256,
        "package_bytes": len(upload.package),
        "received_at": received_at.isoformat(),
    }
