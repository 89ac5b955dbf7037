"""The submit form and the cancel button: they work without JavaScript and call the same verbs as the API."""

from dataclasses import dataclass, field
from typing import Self
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.cancel_right import canceller
from leaderboard.models import Kernel
from leaderboard.sent_cookie import remember_sent
from leaderboard.views import submission_page
from submissions.authentication import Submitter, live_token, submitter_of_user, unverified
from submissions.cancel import request_cancel
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.limits import DEFAULT_LIMITS
from submissions.models import Mode, Submission
from submissions.upload import Upload, receive_upload

MODES = (
    (Mode.RANKED.value, "built, checked, timed; if it is better it goes on the board"),
    (Mode.BENCHMARK.value, "built, checked, timed; never on the board"),
    (Mode.CHECK.value, "built and checked only: the quickest answer"),
)
_FIELD_OF_CODE = {
    "package:kernel-id": "kernel_id",
    "upload:package-missing": "package",
    "package:too-large": "package",
    "upload:mode": "mode",
    "upload:message": "message",
    "upload:submitter-id": "submitter",
}


@dataclass(frozen=True)
class SubmitForm:
    """What was typed, so that it is still there beside an error."""

    kernel_id: str = ""
    mode: str = Mode.RANKED.value
    message: str = ""
    submitter: str = ""
    token: str = field(default="", repr=False)

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        given = request.POST if request.method == "POST" else request.GET
        names = ("kernel_id", "mode", "message", "submitter", "token")
        return cls(**{name: given[name].strip() for name in names if name in given})


@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HttpRequest) -> HttpResponse:
    form = SubmitForm.of(request)
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            return _leave(request, _send(request, form))
        except Rejected as rejected:
            errors[_field_of(rejected)] = rejected.message
    context = {
        "form": form,
        "errors": errors,
        "modes": MODES,
        "limits": DEFAULT_LIMITS,
        "boards": Kernel.objects.order_by("board_id").values_list("board_id", flat=True).distinct(),
        "submitter": submitter_of_user(request),
    }
    return render(request, "leaderboard/submit.html", context)


@require_POST
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponse:
    submission = get_object_or_404(Submission, uuid=uuid)
    try:
        request_cancel(uuid, _canceller(request, submission))
    except Rejected as rejected:
        status = 409 if rejected.code.startswith("state:") else 403
        return submission_page(request, uuid, error=rejected.message, status=status)
    return redirect("leaderboard:submission", uuid=uuid)


def _send(request: HttpRequest, form: SubmitForm) -> Submission:
    package = request.FILES.get("package")
    # One byte over the limit is enough for the verb to refuse it.
    data = package.read(DEFAULT_LIMITS.packed_bytes + 1) if package else b""
    actor = _actor(request, form.submitter, form.token)
    return receive_upload(actor, Upload(form.kernel_id, data, form.mode, form.message))


def _leave(request: HttpRequest, sent: Submission) -> HttpResponse:
    response = redirect("leaderboard:submission", uuid=sent.uuid)
    # A signed-in owner needs no cookie, and leaves none to whoever uses the browser next.
    if not canceller(request, sent):
        remember_sent(request, response, sent.pk)
    return response


def _canceller(request: HttpRequest, submission: Submission) -> str:
    token, owner = request.POST.get("token", ""), submission.submitter
    if token:
        actor = _of_token(token)
        name = actor.name if actor.owns(owner, submission.submitter_is_verified) else ""
    else:
        name = canceller(request, submission)
    if name:
        return name
    if submission.submitter_is_verified:
        raise Rejected("forbidden:not-yours", f"only {owner} can cancel this: give the token of {owner}")
    message = "only the browser that sent this can cancel it: use that one, or ask staff"
    raise Rejected("forbidden:not-yours", message)


def _actor(request: HttpRequest, name: str, token: str) -> Submitter:
    return _of_token(token) if token else submitter_of_user(request) or unverified(name)


def _of_token(token: str) -> Submitter:
    row = live_token(token)
    if row is None:
        raise Rejected("auth:token", "this token is unknown or revoked", field="token")
    return Submitter(row.submitter, is_verified=True)


def _field_of(rejected: Rejected) -> str:
    named = rejected.details.get("field")
    if named in SubmitForm.__dataclass_fields__ or named == "package":
        return str(named)
    if rejected.code.startswith("auth:"):
        return "token"
    return _FIELD_OF_CODE.get(rejected.code, "form")
