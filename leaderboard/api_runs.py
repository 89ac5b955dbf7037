"""Read API of runs: the record of one, finished or not."""

from uuid import UUID

from django.http import HttpResponse
from rest_framework.decorators import api_view
from rest_framework.request import Request

from leaderboard.answers import missing
from leaderboard.run_detail import run_view
from submissions.answers import answer


@api_view(["GET"])
def run(request: Request, uuid: UUID) -> HttpResponse:
    view = run_view(uuid)
    if view is None:
        raise missing("run", str(uuid))
    return answer(request, view)
