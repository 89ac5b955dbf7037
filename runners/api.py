"""What waits and who serves it, for anyone: GET /api/queue and GET /api/runners."""

import dataclasses
from typing import Any

from django.http import HttpResponse
from rest_framework.decorators import api_view
from rest_framework.request import Request

from runners.capabilities import CPU, GPU
from runners.fleet import RunnerRow, runner_rows
from runners.queue_view import queue_depths, queue_page
from submissions.answers import answer
from submissions.kernel_package.errors import Rejected


@api_view(["GET"])
def queue(request: Request) -> HttpResponse:
    kind = request.query_params.get("runner")
    if kind not in (None, CPU, GPU):
        raise Rejected("request:invalid", f"runner must be {CPU} or {GPU}, not {kind!r}")
    page = queue_page(kind, request.query_params.get("cursor", ""))
    return answer(request, {"depth": queue_depths(), "runs": page.rows, "next": page.next_cursor})


@api_view(["GET"])
def runners(request: Request) -> HttpResponse:
    return answer(request, {"runners": [_runner(row) for row in runner_rows()]})


def _runner(row: RunnerRow) -> dict[str, Any]:
    shown = {field.name: getattr(row, field.name) for field in dataclasses.fields(row) if field.name != "run"}
    run = {"run": row.run.pk, "kernel_id": row.run.kernel_id, "stage": row.run.stage} if row.run else None
    return {**shown, "condition": row.condition, "run": run}
