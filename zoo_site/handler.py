"""Django's handler of requests, for those that Django can't even make an object of."""

from collections.abc import Mapping
from typing import IO, Any

from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpResponseBase, JsonResponse

_ERROR = {"code": "request:charset", "message": "The Content-Type names no charset that is known: send UTF-8."}


class Handler(ASGIHandler):
    """Answers 415 where the charset of a Content-Type makes Django fail; no middleware has run by then."""

    def create_request(
        self, scope: Mapping[str, Any], body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        try:
            return super().create_request(scope, body_file)
        except ValueError:
            return None, JsonResponse({"error": {**_ERROR, "details": {}, "request_id": ""}}, status=415)
