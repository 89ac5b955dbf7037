"""What a browser sent through the form, in a signed cookie: its proof later that it was the one.

A name proves nothing, since anyone can type it; only the browser that made an upload has the cookie for it.
"""

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpRequest, HttpResponse

# A browser keeps 4096 bytes of one cookie: these ids and their signature are half of it.
MOST_KEPT = 50

_COOKIE = "sent"
_SALT = "leaderboard.sent"
# As long as a submission may wait for a runner of its arch, within reason.
_KEPT_SECONDS = 365 * 24 * 3600


def remember_sent(request: HttpRequest, response: HttpResponse, submission_id: UUID) -> None:
    """Add a submission to those of this browser; only the newest are kept."""
    kept = [submission_id.hex, *_sent(request)][:MOST_KEPT]
    response.set_signed_cookie(
        _COOKIE,
        ".".join(kept),
        salt=_SALT,
        max_age=_KEPT_SECONDS,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def was_sent_from(request: HttpRequest, submission_id: UUID) -> bool:
    """True where this browser made the upload."""
    return submission_id.hex in _sent(request)


def _sent(request: HttpRequest) -> Sequence[str]:
    kept = request.get_signed_cookie(_COOKIE, "", salt=_SALT, max_age=_KEPT_SECONDS)
    return kept.split(".") if kept else ()
