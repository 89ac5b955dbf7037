"""Decompress gzip without ever producing more than is allowed."""

import zlib

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.limits import PackageLimits

_STEP_BYTES = 64 << 10
# Tar pads each member to blocks of zeros: a tiny honest package may pack better than the ratio says.
_RATIO_FREE_BYTES = 128 << 10
_TAR_FILE_OVERHEAD_BYTES = 4096
_TAR_OVERHEAD_BYTES = 64 << 10


def inflate(data: bytes, limits: PackageLimits) -> bytes:
    """Return the tar stream of a tar.gz; raises Rejected `package:{too-large,bomb,not-an-archive}`."""
    if len(data) > limits.packed_bytes:
        raise Rejected(
            "package:too-large",
            f"the archive has more than {limits.packed_bytes} bytes: leave out what is not source",
            limit=limits.packed_bytes,
        )
    engine = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    produced = 0
    rest = data
    while not engine.eof:
        part = _next_part(engine, rest)
        rest = engine.unconsumed_tail
        produced += len(part)
        _check_size(produced, len(data), len(data) - len(rest), limits)
        parts.append(part)
        if not part and not engine.eof:
            raise Rejected("package:not-an-archive", "the gzip stream ends early: the upload was cut off")
    if engine.unused_data.strip(b"\0"):
        # A second gzip member would be read by some tools and not by others.
        raise Rejected("package:not-an-archive", "there are bytes after the end of the gzip stream")
    return b"".join(parts)


def _next_part(engine: "zlib._Decompress", rest: bytes) -> bytes:
    try:
        return engine.decompress(rest, _STEP_BYTES)
    except zlib.error as error:
        raise Rejected("package:not-an-archive", f"this is not a tar.gz: {error}") from None


def _check_size(produced: int, packed: int, consumed: int, limits: PackageLimits) -> None:
    if produced > limits.ratio * packed + _RATIO_FREE_BYTES:
        raise _bomb(limits)
    allowed = limits.unpacked_bytes + limits.files * _TAR_FILE_OVERHEAD_BYTES + _TAR_OVERHEAD_BYTES
    if produced > allowed:
        if produced > limits.ratio * consumed + _RATIO_FREE_BYTES:
            raise _bomb(limits)
        raise too_large(limits)


def _bomb(limits: PackageLimits) -> Rejected:
    return Rejected(
        "package:bomb",
        f"the archive unpacks to more than {limits.ratio} times its size: it looks like a decompression bomb",
        ratio=limits.ratio,
    )


def too_large(limits: PackageLimits) -> Rejected:
    return Rejected(
        "package:too-large",
        f"the files have more than {limits.unpacked_bytes} bytes in all: leave out what is not source",
        limit=limits.unpacked_bytes,
    )
