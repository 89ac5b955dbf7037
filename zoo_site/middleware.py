"""What every answer carries: a request id, the content security policy, and the API's error envelope."""

import re
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from zoo_site.api_errors import API_PREFIX, envelope_for_status

Handler = Callable[[HttpRequest], HttpResponseBase]

# The admin of Django sets a few style attributes; every page of ours does without.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{style}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


def request_id(get_response: Handler) -> Handler:
    """Give each request an id (the caller's, where it is plain), answered as X-Request-Id."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-Id", "")
        request.request_id = given if _GIVEN_ID.fullmatch(given) else secrets.token_hex(8)  # type: ignore[attr-defined]
        response = get_response(request)
        response.headers["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        return response

    return middleware


def content_security_policy(get_response: Handler) -> Handler:
    """Forbid scripts, styles and requests that are not the site's own."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        style = " 'unsafe-inline'" if request.path.startswith("/admin/") else ""
        response.headers.setdefault("Content-Security-Policy", _POLICY.format(style=style))
        return response

    return middleware


def api_errors(get_response: Handler) -> Handler:
    """Give Django's own errors under /api the same envelope as the API's."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_foreign = not response.headers.get("Content-Type", "").startswith("application/json")
        if request.path.startswith(API_PREFIX) and response.status_code >= 400 and is_foreign:
            return envelope_for_status(request, response.status_code)
        return response

    return middleware
