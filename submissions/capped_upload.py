"""Stop an upload while it is read: no file of a request may exceed what a package may have."""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest

from submissions.kernel_package.limits import DEFAULT_LIMITS
from submissions.upload import too_large

# The boundaries and the small fields of a multipart body, generously.
_FORM_BYTES = 64 << 10


def refuse_oversized(request: HttpRequest) -> None:
    """Raise Rejected `package:too-large` for a body that says it is too long, before any of it is parsed."""
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > DEFAULT_LIMITS.packed_bytes + _FORM_BYTES:
        raise too_large()


class CappedUpload(FileUploadHandler):
    """Counts a file's bytes as they come, whatever the request said of its length; keeps nothing itself."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._read_bytes = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self._read_bytes += len(raw_data)
        if self._read_bytes > DEFAULT_LIMITS.packed_bytes:
            raise too_large()
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
