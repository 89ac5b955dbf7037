"""Who may cancel a submission from a page: its owner, the browser that sent it, staff; else by token."""

from uuid import UUID

from django.http import HttpRequest

from leaderboard.sent_cookie import was_sent_from
from leaderboard.submission_detail import SubmissionView
from submissions.authentication import submitter_of_user
from submissions.cancel import CANCELLABLE_STATES
from submissions.models import Submission

AT_ONCE, BY_TOKEN, NOT_AT_ALL = "at-once", "by-token", ""


def canceller(request: HttpRequest, submission: Submission | SubmissionView) -> str:
    """Return the name under which this browser may cancel the submission, empty where it may not."""
    user = submitter_of_user(request)
    if user and user.owns(submission.submitter, submission.submitter_is_verified):
        return user.name
    return submission.submitter if was_sent_from(request, UUID(str(submission.uuid))) else ""


def way_to_cancel(request: HttpRequest, submission: SubmissionView) -> str:
    """Return how the page offers to cancel: at once, by the token of the submitter, or not at all."""
    if submission.state not in CANCELLABLE_STATES:
        return NOT_AT_ALL
    if canceller(request, submission):
        return AT_ONCE
    # A bare name has no token, and who is signed in acts under that name.
    asks_for_token = submission.submitter_is_verified and not request.user.is_authenticated
    return BY_TOKEN if asks_for_token else NOT_AT_ALL
