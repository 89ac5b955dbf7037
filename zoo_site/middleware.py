"""What every request must be, readable, and what every answer carries: an id, the policies, the API's envelope."""

import codecs
import re
import secrets
from collections.abc import Callable

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from submissions.kernel_package.errors import Rejected
from zoo_site.api_errors import envelope_for_error, envelope_for_status, is_api, status_of

Handler = Callable[[HttpRequest], HttpResponseBase]

# The admin of Django sets a few style attributes; every page of ours does without.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{style}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")

# Every byte of these is text. Others fail in the decoder, or bring characters that neither JSON nor SQL can hold.
_ENCODINGS = frozenset({"utf-8", "ascii", "iso8859-1"})

# Of an answer that is replaced by the envelope, what describes its body.
_OF_THE_BODY = ("Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "ETag")


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


def readable_requests(get_response: Handler) -> Handler:
    """Refuse a request for another host, a NUL in an address or a cookie, and text in an odd encoding."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        try:
            _require_readable(request)
        except Rejected as error:
            if is_api(request):
                return envelope_for_error(request, error)
            return HttpResponse(error.message, status=status_of(error), content_type="text/plain; charset=utf-8")
        return get_response(request)

    return middleware


def _require_readable(request: HttpRequest) -> None:
    try:
        request.get_host()
    except DisallowedHost as error:
        message = "this site does not answer for that host: an operator can add it to KERNEL_ZOO_ALLOWED_HOSTS"
        raise Rejected("request:host", message) from error
    if request.encoding and codecs.lookup(request.encoding).name not in _ENCODINGS:
        raise Rejected("request:charset", f"text as {request.encoding!r} is not read here: send UTF-8")
    # PostgreSQL holds no NUL in a text, so that asking for one would be a failure of ours.
    texts = (request.path, request.META.get("QUERY_STRING", "").replace("%00", "\0"), *request.COOKIES.values())
    if any("\0" in text for text in texts):
        raise Rejected("request:nul", "the address or a cookie holds a NUL (%00): send it without")


def head_as_get(get_response: Handler) -> Handler:
    """Answer HEAD under /api as the route's GET; the server leaves the body out."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.method != "HEAD" or not is_api(request):
            return get_response(request)
        request.method = "GET"
        try:
            return get_response(request)
        finally:
            request.method = "HEAD"

    return middleware


def api_errors(get_response: Handler) -> Handler:
    """Give Django's own errors under /api the same envelope as the API's."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_foreign = not response.headers.get("Content-Type", "").startswith("application/json")
        if not (is_api(request) and response.status_code >= 400 and is_foreign):
            return response
        worded = envelope_for_status(request, response.status_code)
        for name, value in response.headers.items():
            if name not in _OF_THE_BODY:
                worded.headers[name] = value
        return worded

    return middleware
