"""Read API of kernels: list and filter, detail, history, source."""

import base64
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.cache import patch_vary_headers
from rest_framework.decorators import api_view, content_negotiation_class
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from leaderboard.answers import OneForm, missing
from leaderboard.kernel_detail import kernel_view
from leaderboard.models import BenchPoint, Kernel, MirrorState
from leaderboard.problem_detail import text_files
from leaderboard.standing import history
from submissions import store
from submissions.answers import answer, answer_bytes
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.names import KernelId
from submissions.paging import whole_number

GZIP_TYPE = "application/gzip"

# What a list can be narrowed by: the parameter, and the column it must equal.
FILTERS = {
    "arch": "arch",
    "problem": "problem_id",
    "board": "board_id",
    "status": "status",
    "submitter": "submitter",
    "device": "device",
    "evidence": "evidence",
    "language": "language",
    "rank": "rank",
}
LIMIT_DEFAULT, LIMIT_HIGHEST = 50, 500

# What a column of whole numbers can hold.
RANK_HIGHEST = (1 << 31) - 1


@api_view(["GET"])
def kernels(request: Request) -> HttpResponse:
    limit = _whole(request, "limit", LIMIT_DEFAULT, LIMIT_HIGHEST)
    found = _filtered(request)
    after = request.query_params.get("cursor")
    if after:
        found = found.filter(kernel_id__gt=_read_cursor(after))
    rows = list(found.order_by("kernel_id").defer("bench", "description", "index_entry")[: limit + 1])
    has_more = len(rows) > limit
    shown = rows[:limit]
    return answer(
        request,
        {"kernels": [_row(kernel) for kernel in shown], "next": _cursor(shown[-1]) if has_more else None},
    )


@api_view(["GET"])
def kernel(request: Request, /, **names: str) -> HttpResponse:
    view = kernel_view(_kernel_id(names))
    if view is None:
        raise missing("kernel", _kernel_id(names))
    return answer(request, view)


@api_view(["GET"])
def bench_history(request: Request, /, **names: str) -> HttpResponse:
    kernel_id = _kernel_id(names)
    standing = Kernel.objects.filter(kernel_id=kernel_id).first()
    points = history(BenchPoint.objects.filter(kernel_id=kernel_id))
    if standing is None and not points:
        raise missing("kernel", kernel_id)
    bench = standing.bench if standing else {}
    document = {
        "kernel_id": kernel_id,
        "best": bench.get("best"),
        "current": bench.get("current"),
        "history": points,
    }
    return answer(request, document)


@api_view(["GET"])
@content_negotiation_class(OneForm)
def source(request: Request, /, **names: str) -> HttpResponse:
    kernel_id = _kernel_id(names)
    if not Kernel.objects.filter(kernel_id=kernel_id).exists():
        raise missing("kernel", kernel_id)
    head = MirrorState.objects.values_list("head", flat=True).first() or ""
    files = store.reader().files(head, KernelId.parse(kernel_id))
    if GZIP_TYPE in request.headers.get("Accept", ""):
        response = answer_bytes(request, write_archive(files), GZIP_TYPE)
        response.headers["Content-Disposition"] = f'attachment; filename="{names["name"]}.tar.gz"'
    else:
        response = answer(request, {"kernel_id": kernel_id, "commit": head, "files": text_files(files)})
    patch_vary_headers(response, ("Accept",))
    return response


def _filtered(request: Request) -> QuerySet[Kernel]:
    chosen: dict[str, Any] = {
        column: request.query_params[name] for name, column in FILTERS.items() if name in request.query_params
    }
    if "rank" in chosen:
        chosen["rank"] = _whole(request, "rank", 1, RANK_HIGHEST)
    return Kernel.objects.filter(**chosen)


def _row(row: Kernel) -> dict[str, Any]:
    return {
        "kernel_id": row.kernel_id,
        "title": row.title,
        "status": row.status,
        "rank": row.rank,
        "is_tied": row.is_tied,
        "speedup": row.interval,
        "arch": row.arch,
        "problem": row.problem_id,
        "problem_version": row.problem_version,
        "device": row.device,
        "evidence": row.evidence,
        "language": row.language,
        "submitter": row.submitter,
        "submission": row.submission,
        "source_commit": row.source_commit,
        "accepted_at": row.accepted_at,
    }


def _kernel_id(names: dict[str, str]) -> str:
    return "/".join(names[part] for part in ("arch", "op_class", "sub_class", "quant", "name"))


def _cursor(last: Kernel) -> str:
    return base64.urlsafe_b64encode(last.kernel_id.encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> str:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        return str(KernelId.parse(text))
    except (ValueError, Rejected) as error:
        raise ValidationError("cursor is not one that this list gave; start without it") from error


def _whole(request: Request, name: str, default: int, highest: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    number = whole_number(text)
    if number is None or not 1 <= number <= highest:
        raise ValidationError(f"{name} must be a whole number from 1 to {highest}")
    return number
