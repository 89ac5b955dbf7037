"""How a read is answered: JSON with an ETag of its bytes, and 304 for who has them already."""

import dataclasses
import hashlib
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from rest_framework.request import Request


def json_bytes(document: Any) -> bytes:
    """Return a document of dataclasses and plain data as JSON; times in UTC with Z."""
    return json.dumps(document, default=_plain, ensure_ascii=False, sort_keys=True).encode()


def answer(request: Request | HttpRequest, document: Any, cache_control: str = "no-cache") -> HttpResponse:
    """Answer a document, or 304 to who has it already."""
    return answer_bytes(request, json_bytes(document), "application/json", cache_control)


def answer_bytes(
    request: Request | HttpRequest, content: bytes, content_type: str, cache_control: str = "no-cache"
) -> HttpResponse:
    """Answer bytes, or 304 to who has them already."""
    etag = etag_of(content)
    plain: HttpRequest = request._request if isinstance(request, Request) else request
    response = HttpResponse(content, content_type=content_type)
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = cache_control
    conditional = get_conditional_response(plain, etag=etag, response=response)
    return conditional if isinstance(conditional, HttpResponse) else response


def etag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
