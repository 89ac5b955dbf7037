"""The live pages of the queue and of the fleet."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from runners.fleet import runner_row, runner_rows, runs_of
from runners.queue_view import queue_rows
from submissions.fragments import render_page


@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    rows = queue_rows()
    context = {
        "running": [row for row in rows if row.is_running],
        "waiting": [row for row in rows if not row.is_running],
    }
    return render_page(request, "runners/queue.html", context)


@require_safe
def runners(request: HttpRequest) -> HttpResponse:
    return render_page(request, "runners/runners.html", {"rows": runner_rows()})


@require_safe
def runner(request: HttpRequest, name: str) -> HttpResponse:
    found = runner_row(name)
    if found is None:
        raise Http404(f"there is no runner {name}")
    return render_page(request, "runners/runner.html", {"runner": found, "runs": runs_of(name)})
