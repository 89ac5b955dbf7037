"""Keys of remote runners: made once, kept as hashes, each good for a list of archs. Pure."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping

PREFIX = "kzr_"


def new_key() -> str:
    """Return a fresh key; it is shown once and never stored."""
    return PREFIX + secrets.token_urlsafe(32)


def key_sha256(key: str) -> str:
    """Return what may be stored of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def allowed_archs(key: str, archs_by_hash: Mapping[str, Iterable[str]]) -> frozenset[str] | None:
    """Return the archs a key is good for, None for an unknown key; takes the same time for any wrong one."""
    shown = key_sha256(key)
    found: frozenset[str] | None = None
    for known, archs in archs_by_hash.items():
        if hmac.compare_digest(shown, known):
            found = frozenset(archs)
    return found


def may_register(archs: Iterable[str], allowed: frozenset[str] | None) -> bool:
    """True where a key that is good for `allowed` covers every arch a runner declares."""
    declared = frozenset(archs)
    return allowed is not None and bool(declared) and declared <= allowed
