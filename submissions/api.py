"""The write API: send a submission, look at one's own, cancel."""

from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.datastructures import MultiValueDict
from rest_framework.exceptions import NotAuthenticated, Throttled
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from submissions.answers import answer
from submissions.authentication import AUTHENTICATION, IsSubmitter, Submitter, unverified
from submissions.cancel import request_cancel
from submissions.capped_upload import CappedUpload, refuse_oversized
from submissions.documents import links, submission_document
from submissions.form_fields import Form, file_field, text_field
from submissions.kernel_package.errors import Rejected
from submissions.models import Mode, Run, State, Submission
from submissions.paging import SubmissionPages
from submissions.quota import quota_of
from submissions.upload import Upload, receive_upload

# What the longest right value of a field has, in characters; a longer one is not read, nor repeated in an answer.
_LONGEST = {"kernel_id": 330, "mode": 16, "submitter_id": 80}


class Submissions(APIView):
    """POST a package; GET one's own submissions."""

    authentication_classes = AUTHENTICATION
    parser_classes = (MultiPartParser,)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        if request.method == "POST":
            request.upload_handlers.insert(0, CappedUpload(request))
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method == "POST":
            _require_length(request)
            refuse_oversized(request._request)
        super().initial(request, *args, **kwargs)

    def post(self, request: Request) -> Response:
        submitter = _sender(request)
        try:
            submission = receive_upload(submitter, _upload(request))
        except Rejected as error:
            if error.code == "quota:submissions":
                raise Throttled(error.details["retry_after_seconds"], error.message) from error
            raise
        body = {"uuid": str(submission.pk), "state": submission.state, **links(submission)}
        headers = {"Location": links(submission)["url"], **quota_of(submitter).headers()}
        return Response(body, status=202, headers=headers)

    def get(self, request: Request) -> Response:
        if not isinstance(request.user, Submitter):
            raise NotAuthenticated
        submitter = request.user
        pages = SubmissionPages()
        page = pages.paginate_queryset(_own(submitter, request), request, view=self)
        answer = pages.get_paginated_response([submission_document(row) for row in page or ()])
        for name, value in quota_of(submitter).headers().items():
            answer[name] = value
        return answer


class SubmissionDetail(APIView):
    """GET one's own submission, with its runs."""

    authentication_classes = AUTHENTICATION
    permission_classes = (IsSubmitter,)

    def get(self, request: Request, uuid: UUID) -> HttpResponse:
        return answer(request, submission_document(_owned(request, uuid)), "private, no-cache")


class SubmissionCancel(APIView):
    """POST to cancel one's own submission, while it waits or runs."""

    authentication_classes = AUTHENTICATION
    permission_classes = (IsSubmitter,)

    def post(self, request: Request, uuid: UUID) -> Response:
        submission = _owned(request, uuid)
        request_cancel(submission.pk, _submitter(request).name)
        return Response(submission_document(_owned(request, uuid)), status=202)


def _submitter(request: Request) -> Submitter:
    if not isinstance(request.user, Submitter):
        raise NotAuthenticated
    return request.user


def _require_length(request: Request) -> None:
    # Django reads nothing of a form without a length, which would look like a form without fields.
    if "Transfer-Encoding" in request.headers:
        message = "a form sent in chunks can't be read: send it whole, with a Content-Length"
        raise Rejected("request:length", message)


def _form(request: Request) -> Form:
    # A request without a body has plain empty data.
    return request.data if isinstance(request.data, MultiValueDict) else MultiValueDict()


def _text(request: Request, name: str, default: str = "") -> str:
    return text_field(_form(request), name, default, _LONGEST.get(name))


def _sender(request: Request) -> Submitter:
    named = _text(request, "submitter_id")
    if not isinstance(request.user, Submitter):
        if not named:
            raise NotAuthenticated
        return unverified(named)
    if named and named != request.user.name:
        message = f"the token is {request.user.name!r}'s: leave submitter_id out, or send that name"
        raise Rejected("forbidden:submitter-id", message)
    return request.user


def _upload(request: Request) -> Upload:
    package = file_field(_form(request), "package")
    if package is None:
        message = "send the package as a file: -F package=@kernel.tar.gz"
        raise Rejected("upload:package-missing", message, field="package")
    return Upload(
        kernel_id=_text(request, "kernel_id"),
        package=package.read(),
        mode=_text(request, "mode", Mode.RANKED),
        message=_text(request, "message"),
        idempotency_key=request.headers.get("Idempotency-Key", ""),
    )


def _own(submitter: Submitter, request: Request) -> QuerySet[Submission]:
    found = Submission.objects.prefetch_related(Prefetch("runs", Run.objects.light()))
    if not submitter.is_staff:
        found = found.by(submitter.name).filter(submitter_is_verified=submitter.is_verified)
    state, kernel_id = request.query_params.get("state", ""), request.query_params.get("kernel_id", "")
    if state and state not in State.values:
        raise Rejected("request:state", f"{state!r} is no state: {', '.join(State.values)}", field="state")
    if state:
        found = found.filter(state=state)
    return found.filter(kernel_id=kernel_id) if kernel_id else found


def _owned(request: Request, uuid: UUID) -> Submission:
    found = Submission.objects.prefetch_related(Prefetch("runs", Run.objects.light()))
    submission = found.filter(pk=uuid).first()
    if submission is None:
        raise Rejected("missing:submission", f"there is no submission {uuid}")
    if not _submitter(request).owns(submission.submitter, submission.submitter_is_verified):
        raise Rejected("forbidden:not-yours", "this submission is another submitter's")
    return submission
