"""Who sends: a bearer token, the site's session, or, where the site is open, a name that nobody vouches for."""

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from submissions.kernel_package.errors import Rejected
from submissions.models import SubmitterToken

STARTER_SUBMITTER = "kernel-zoo"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,79}")
_TOKEN_PREFIX = "kz_"  # noqa: S105 (a public mark that secret scanners look for, no secret)
_PREFIX_CHARS = 10
_USE_IS_NOTED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True)
class Submitter:
    """Who acts; `is_verified` is false for a bare X-Submitter-Id."""

    name: str
    is_verified: bool
    is_staff: bool = False

    @property
    def is_authenticated(self) -> bool:
        return True

    def owns(self, submitter: str, is_verified: bool) -> bool:
        """True for what this submitter sent, and for everything where it is staff."""
        return self.is_staff or (self.name == submitter and self.is_verified == is_verified)


def issue_token(submitter: str) -> tuple[SubmitterToken, str]:
    """Make a token; its text is returned this once and kept nowhere. Raises Rejected `upload:submitter-id`."""
    text = _TOKEN_PREFIX + secrets.token_urlsafe(32)
    row = SubmitterToken.objects.create(
        submitter=valid_name(submitter), token_sha256=_sha256(text), prefix=text[:_PREFIX_CHARS]
    )
    return row, text


def revoke_token(token_id: int) -> None:
    """Make a token useless from now on; revoking it again changes nothing."""
    SubmitterToken.objects.live().filter(pk=token_id).update(revoked_at=timezone.now())


def valid_name(name: str) -> str:
    """Return a submitter's name; raises Rejected `upload:submitter-id`."""
    if not _NAME.fullmatch(name):
        message = "a submitter's name has letters, digits and _ . @ + -, at most 80, and starts with no sign"
        raise Rejected("upload:submitter-id", message, value=name[:100])
    return name


def unverified(name: str) -> Submitter:
    """Return who a bare name stands for; raises Rejected `auth:…` where a bare name is not enough."""
    if not settings.OPEN_SUBMISSIONS:
        raise Rejected("auth:token-required", "this site takes no bare X-Submitter-Id: send a bearer token")
    # Before it is looked up: no query is made for what can't be a name.
    valid_name(name)
    if name == STARTER_SUBMITTER or SubmitterToken.objects.live().filter(submitter=name).exists():
        raise Rejected("auth:token-required", f"{name!r} belongs to somebody: send the token", submitter=name)
    return Submitter(name, is_verified=False)


def live_token(text: str) -> SubmitterToken | None:
    """Return the row of a token as it was shown to its owner; None where it is unknown or revoked."""
    return SubmitterToken.objects.live().filter(token_sha256=_sha256(text.strip())).first()


def submitter_of_user(request: HttpRequest) -> Submitter | None:
    """Return the signed-in user of a page as a submitter, or None."""
    user = request.user
    if not user.is_authenticated or not user.is_active:
        return None
    return Submitter(user.get_username(), is_verified=True, is_staff=user.is_staff)


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`."""

    def authenticate(self, request: Request) -> tuple[Submitter, SubmitterToken] | None:
        scheme, _, text = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = live_token(text)
        if token is None:
            raise AuthenticationFailed("this token is unknown or revoked: ask an operator for a new one")
        _note_use(token)
        return Submitter(token.submitter, is_verified=True), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class UserAuthentication(SessionAuthentication):
    """The site's own session, for its pages; with the CSRF token as everywhere in Django."""

    def authenticate(self, request: Request) -> tuple[Submitter, None] | None:
        if super().authenticate(request) is None:
            return None
        submitter = submitter_of_user(request._request)
        return (submitter, None) if submitter else None


class BareNameAuthentication(BaseAuthentication):
    """`X-Submitter-Id` alone, where the site is open."""

    def authenticate(self, request: Request) -> tuple[Submitter, None] | None:
        name = request.headers.get("X-Submitter-Id", "")
        return (unverified(name), None) if name else None


AUTHENTICATION = (BearerAuthentication, UserAuthentication, BareNameAuthentication)


class IsSubmitter(BasePermission):
    """Some submitter is known, by whatever means the site takes."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.user, Submitter)


def _note_use(token: SubmitterToken) -> None:
    now = timezone.now()
    # Not on each request: every write takes SQLite's one write lock.
    if token.last_used_at is None or now - token.last_used_at > _USE_IS_NOTED_EVERY:
        SubmitterToken.objects.filter(pk=token.pk).update(last_used_at=now)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
