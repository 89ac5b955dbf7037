"""Read API of what competes: the prebuilt index, problems and boards."""

import gzip
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from rest_framework.decorators import api_view
from rest_framework.request import Request

from leaderboard.answers import missing
from leaderboard.board import board_view
from leaderboard.index import write_index
from leaderboard.problem_detail import problem_view, problems_overview
from submissions.answers import answer, etag_of


@api_view(["GET"])
def index(request: Request) -> HttpResponse:
    path = Path(settings.INDEX_PATH)
    if not path.exists():
        write_index()
    stamp = path.stat()
    etag, content, packed = _index_file(str(path), stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)
    takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(packed if takes_gzip else content, content_type="application/json")
    if takes_gzip:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "no-cache"
    patch_vary_headers(response, ("Accept-Encoding",))
    conditional = get_conditional_response(request._request, etag=etag, response=response)
    return conditional if isinstance(conditional, HttpResponse) else response


@api_view(["GET"])
def problems(request: Request) -> HttpResponse:
    return answer(request, {"problems": problems_overview()})


@api_view(["GET"])
def problem(request: Request, op_class: str, sub_class: str, quant: str) -> HttpResponse:
    problem_id = f"{op_class}/{sub_class}/{quant}"
    view = problem_view(problem_id)
    if view is None:
        raise missing("problem", problem_id)
    return answer(request, view)


@api_view(["GET"])
def board(request: Request, arch: str, op_class: str, sub_class: str, quant: str) -> HttpResponse:
    board_id = f"{arch}/{op_class}/{sub_class}/{quant}"
    view = board_view(board_id)
    if view is None:
        raise missing("board", board_id)
    return answer(request, view)


@lru_cache(maxsize=2)
def _index_file(path: str, mtime_ns: int, size: int, inode: int) -> tuple[str, bytes, bytes]:
    """Return the file's tag, bytes and packed bytes; the arguments after the path name its version."""
    content = Path(path).read_bytes()
    return etag_of(content), content, gzip.compress(content, compresslevel=5, mtime=0)
