"""What waits and who serves it, for anyone: GET /api/queue and GET /api/runners."""

import dataclasses
import hashlib
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from rest_framework.decorators import api_view
from rest_framework.request import Request

from runners.capabilities import CPU, GPU
from runners.fleet import RunnerRow, runner_rows
from runners.queue_view import queue_depths, queue_page
from submissions.kernel_package.errors import Rejected


@api_view(["GET"])
def queue(request: Request) -> HttpResponse:
    kind = request.query_params.get("runner")
    if kind not in (None, CPU, GPU):
        raise Rejected("request:invalid", f"runner must be {CPU} or {GPU}, not {kind!r}")
    page = queue_page(kind, request.query_params.get("cursor", ""))
    return _answer(request, {"depth": queue_depths(), "runs": page.rows, "next": page.next_cursor})


@api_view(["GET"])
def runners(request: Request) -> HttpResponse:
    return _answer(request, {"runners": [_runner(row) for row in runner_rows()]})


def _runner(row: RunnerRow) -> dict[str, Any]:
    shown = {field.name: getattr(row, field.name) for field in dataclasses.fields(row) if field.name != "run"}
    run = {"run": row.run.pk, "kernel_id": row.run.kernel_id, "stage": row.run.stage} if row.run else None
    return {**shown, "condition": row.condition, "run": run}


def _answer(request: Request, document: Any) -> HttpResponse:
    content = json.dumps(document, default=_plain, ensure_ascii=False, sort_keys=True).encode()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    response = HttpResponse(content, content_type="application/json", headers={"ETag": etag})
    response.headers["Cache-Control"] = "no-cache"
    conditional = get_conditional_response(request._request, etag=etag, response=response)
    return conditional if isinstance(conditional, HttpResponse) else response


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
