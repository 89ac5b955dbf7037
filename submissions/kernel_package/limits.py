"""How large a package may be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PackageLimits:
    """Bounds of one package; `ratio` is unpacked bytes over packed bytes."""

    packed_bytes: int = 1 << 20
    unpacked_bytes: int = 8 << 20
    files: int = 200
    ratio: int = 100


DEFAULT_LIMITS = PackageLimits()

# Our own archives of checked packages hold the grader's scripts too, and may be packed tighter than the entrant's.
TRUSTED_LIMITS = PackageLimits(packed_bytes=10 << 20, unpacked_bytes=9 << 20, files=210, ratio=2000)
