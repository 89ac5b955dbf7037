"""How many submissions one submitter may send a day: all are charged, but for those that cost no runner's time.

Whether a failed run is the package's doing or the runner's, nobody can tell for sure. So an errored or cancelled
submission is free only where no attempt came as far as building it: before that, nothing of it was executed.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from submissions.authentication import STARTER_SUBMITTER, Submitter
from submissions.evaluation.verdicts import STAGES
from submissions.kernel_package.errors import Rejected
from submissions.models import Event, Run, State, Submission

DEFAULT_PER_DAY = 2000

_WINDOW = timedelta(days=1)
_FREE_BEFORE_BUILD = (State.ERRORED, State.CANCELLED)
_FROM_BUILD_ON = STAGES[STAGES.index("build") :]


@dataclass(frozen=True)
class Quota:
    """What a submitter may still send; `resets_at` is when the oldest charged submission falls out."""

    limit: int
    remaining: int
    resets_at: datetime

    @property
    def resets_in_seconds(self) -> int:
        return max(1, round((self.resets_at - timezone.now()).total_seconds()))

    def headers(self) -> dict[str, str]:
        """Return the quota as answer headers."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.resets_in_seconds),
        }


def quota_of(submitter: Submitter) -> Quota:
    """Return what a submitter may still send."""
    now = timezone.now()
    limit = getattr(settings, "SUBMISSIONS_PER_DAY", DEFAULT_PER_DAY)
    recent = Submission.objects.by(submitter.name).filter(
        submitter_is_verified=submitter.is_verified, received_at__gt=now - _WINDOW
    )
    charged = recent.filter(~Q(state__in=_FREE_BEFORE_BUILD) | _was_built()).order_by("received_at")
    oldest = charged.values_list("received_at", flat=True).first()
    return Quota(limit, max(0, limit - charged.count()), (oldest or now) + _WINDOW)


def require_quota(submitter: Submitter) -> None:
    """Raise Rejected `quota:submissions` where nothing is left; the site's own zoo has no limit."""
    if submitter.name == STARTER_SUBMITTER and submitter.is_verified:
        return
    quota = quota_of(submitter)
    if quota.remaining == 0:
        message = (
            f"{quota.limit} submissions a day are all used; the next one is free in {quota.resets_in_seconds} s"
        )
        raise Rejected("quota:submissions", message, retry_after_seconds=quota.resets_in_seconds)


def _was_built() -> Q:
    # A retry starts at the first stage again: of the earlier attempts only the events tell how far they came.
    ended = Run.objects.filter(submission=OuterRef("pk"), stage__in=_FROM_BUILD_ON)
    tried = Event.objects.filter(submission=OuterRef("pk"), kind="stage", text__in=_FROM_BUILD_ON)
    return Q(Exists(ended)) | Q(Exists(tried))
