"""The reading pages: boards, problems, kernels, submissions. Fetch, arrange, render."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from leaderboard import overview, submission_list
from leaderboard.board import board_view, boards_overview, kernel_view, submission_view
from leaderboard.board_page import board_tables
from leaderboard.cancel_right import way_to_cancel
from leaderboard.entrant_help import entrant_help
from leaderboard.headline import headline, needs_help, shows_why
from leaderboard.highlight import source_file, source_files, starter_sources
from leaderboard.models import Kernel
from leaderboard.problem_detail import problem_view, problems_overview
from leaderboard.run_card import run_cards
from leaderboard.signature import native_signature
from leaderboard.stored_source import kernel_files, submitted_files
from leaderboard.svg import scale_over
from leaderboard.svg_history import history_points
from submissions.fragments import render_page
from submissions.kernel_package.archive import write_archive
from submissions.models import Submission


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    query = {name: request.GET.get(name, "").strip() for name in ("arch", "op", "q")}
    boards = boards_overview(arch=query["arch"], op_class=query["op"])
    groups = overview.by_op_class(boards, query["q"])
    context = {
        "query": query,
        "is_filtered": any(query.values()),
        "groups": groups,
        "scale": overview.common_scale(groups),
        "archs": overview.archs(),
        "op_classes": overview.op_classes(),
        "records": overview.latest_records(boards),
        "counts": overview.counts(boards),
        "now": overview.running_now(),
    }
    return render_page(request, "leaderboard/home.html", context)


@require_safe
def problems(request: HttpRequest) -> HttpResponse:
    return render_page(request, "leaderboard/problems.html", {"problems": problems_overview()})


@require_safe
def problem(request: HttpRequest, problem_id: str) -> HttpResponse:
    found = problem_view(problem_id)
    if found is None:
        raise Http404(f"there is no problem {problem_id}")
    boards = [board for board in boards_overview() if board.problem_id == problem_id]
    context = {
        "problem": found,
        "document": found.document,
        "boards": boards,
        "scale": scale_over(board.best.speedup for board in boards if board.best),
        "signature": native_signature(found.document),
        "reference": source_file("reference.py", found.reference_py.encode()),
        "starters": starter_sources(found),
    }
    return render_page(request, "leaderboard/problem.html", context)


@require_safe
def board(request: HttpRequest, board_id: str) -> HttpResponse:
    found = board_view(board_id)
    if found is None:
        raise Http404(f"there is no board {board_id}")
    context = {
        "board": found,
        "tables": board_tables(found),
        "history": history_points(found.records),
    }
    return render_page(request, "leaderboard/board.html", context)


@require_safe
def kernel(request: HttpRequest, kernel_id: str) -> HttpResponse:
    found = kernel_view(kernel_id)
    if found is None:
        raise Http404(f"there is no kernel {kernel_id}")
    cases = found.standing.cases
    context = {
        "kernel": found,
        "standing": found.standing,
        "scale": scale_over([found.standing.speedup, *(case.speedup for case in cases)]),
        "history": history_points(found.history),
        "files": source_files(kernel_files(kernel_id, found.standing.source_commit)),
    }
    return render_page(request, "leaderboard/kernel.html", context)


@require_safe
def kernel_download(request: HttpRequest, kernel_id: str) -> HttpResponse:
    found = get_object_or_404(Kernel, kernel_id=kernel_id)
    archive = write_archive(kernel_files(kernel_id, found.source_commit))
    name = f"{found.kernel_id.replace('/', '-')}.tar.gz"
    return HttpResponse(
        archive,
        content_type="application/gzip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_safe
def submissions(request: HttpRequest) -> HttpResponse:
    context = {
        "page": submission_list.submission_page(request.GET.dict()),
        "states": submission_list.state_choices(),
    }
    return render_page(request, "leaderboard/submissions.html", context)


@require_safe
def submission(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return submission_page(request, uuid)


def submission_page(request: HttpRequest, uuid: UUID, error: str = "", status: int = 200) -> HttpResponse:
    """Render one submission; `error` says why an act on it was refused."""
    found = submission_view(uuid)
    if found is None:
        raise Http404(f"there is no submission {uuid}")
    run = found.current_run
    details = {**(run.details if run else {}), **found.details} if needs_help(found.state) else {}
    files = submitted_files(Submission.objects.get(uuid=uuid)) if details.get("compile_errors") else {}
    context = {
        "submission": found,
        "name": found.kernel_id.rsplit("/", 1)[-1],
        "cards": run_cards(found.runs),
        "headline": headline(found.state, run.verdict if run else "", run.stage if run else ""),
        "help": entrant_help(details, files),
        "show_why": bool(found.why_not_ranked) and shows_why(found.state),
        "cancel": way_to_cancel(request, found),
        "error": error,
    }
    return render_page(request, "leaderboard/submission.html", context, status=status)
