"""The one error envelope of the API: {"error": {"code", "message", "details", "request_id"}}."""

import logging
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from submissions.kernel_package.errors import Rejected, ZooError

logger = logging.getLogger(__name__)

# Codes whose status is not the area's default.
_STATUS_BY_CODE: Mapping[str, int] = {
    "package:too-large": 413,
    "upload:too-large": 413,
    "upload:idempotency-conflict": 422,
    "lease:lost": 409,
    "request:charset": 415,
}
_STATUS_BY_AREA: Mapping[str, int] = {
    "auth": 401,
    "forbidden": 403,
    "missing": 404,
    "state": 409,
    "quota": 429,
    "package": 422,
}
_WORDS_BY_STATUS: Mapping[int, tuple[str, str]] = {
    400: ("request:invalid", "The request can't be read."),
    401: ("auth:required", "Send a token: Authorization: Bearer <token>."),
    403: ("forbidden:not-allowed", "This is not yours to do."),
    404: ("missing:not-found", "There is nothing at this address."),
    405: ("request:method", "This address does not answer that method."),
    406: ("request:not-acceptable", "The API answers JSON: accept application/json, or anything."),
    409: ("state:conflict", "What stands now does not allow this; look again, then decide."),
    412: ("request:precondition", "What is here is not what If-Match or If-Unmodified-Since asks for."),
    413: ("request:too-large", "The request is larger than the site takes."),
    415: ("request:media-type", "Send JSON or multipart/form-data, as the route says."),
    422: ("request:unprocessable", "The request can be read, but what it says can't be taken."),
    429: ("quota:exceeded", "Too many requests; wait as Retry-After says."),
    500: ("internal:error", "The site failed; nothing of yours is lost. Quote the request id."),
    503: ("internal:unavailable", "The site can't answer now; try again shortly."),
}


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Answer a failing API view with the envelope (the hook REST framework calls)."""
    request = context["request"]._request
    if isinstance(error, ZooError):
        body = envelope(request, error.code, error.message, dict(error.details))
        return Response(body, status=status_of(error))
    if isinstance(error, Http404):
        error = exceptions.NotFound(*error.args)
    if isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(*error.args)
    if not isinstance(error, exceptions.APIException):
        return None
    code, message = _words(error.status_code)
    is_default = error.detail == getattr(error, "default_detail", None)
    text = message if is_default or not isinstance(error.detail, str) else str(error.detail)
    details = {} if isinstance(error.detail, str) else {"fields": error.detail}
    return Response(envelope(request, code, text, details), status=error.status_code, headers=_headers(error))


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if isinstance(error, exceptions.Throttled):
        headers["Retry-After"] = _wait_seconds(error)
    if scheme := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = scheme
    return headers


def _wait_seconds(error: exceptions.Throttled) -> str:
    return str(max(1, round(getattr(error, "wait", None) or 1)))


def status_of(error: ZooError) -> int:
    """Return the HTTP status of one of our own errors."""
    area = error.code.partition(":")[0]
    fallback = 400 if isinstance(error, Rejected) else 503
    return _STATUS_BY_CODE.get(error.code) or _STATUS_BY_AREA.get(area, fallback)


def envelope(request: HttpRequest, code: str, message: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an error answer."""
    identity = getattr(request, "request_id", "")
    return {"error": {"code": code, "message": message, "details": details, "request_id": identity}}


def envelope_for_status(request: HttpRequest, status: int) -> JsonResponse:
    """Answer a bare HTTP status with the envelope."""
    code, message = _words(status)
    return JsonResponse(envelope(request, code, message, {}), status=status)


def envelope_for_error(request: HttpRequest, error: ZooError) -> JsonResponse:
    """Answer one of our own errors with the envelope, where no API view does."""
    body = envelope(request, error.code, error.message, error.details)
    return JsonResponse(body, status=status_of(error))


def is_api(request: HttpRequest) -> bool:
    """True where an error has to be the envelope."""
    return request.path == "/api" or request.path.startswith("/api/")


def _words(status: int) -> tuple[str, str]:
    return _WORDS_BY_STATUS.get(status) or _WORDS_BY_STATUS[500 if status >= 500 else 400]
