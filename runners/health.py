"""Count a runner's infrastructure failures in a row; the third takes it out until a person looks at it."""

from functools import partial

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from runners.models import Runner, RunnerState
from submissions.live import RUNNERS, announce
from submissions.models import Event

QUARANTINE_AFTER = 3


def count_infra_failure(runner_id: int, message: str) -> None:
    """Add one failure of ours; the third in a row quarantines the runner."""
    with transaction.atomic():
        Runner.objects.filter(pk=runner_id).update(infra_failures=F("infra_failures") + 1)
        failing = Runner.objects.filter(
            pk=runner_id, state=RunnerState.ACTIVE, infra_failures__gte=QUARANTINE_AFTER
        )
        reason = f"{QUARANTINE_AFTER} infrastructure failures in a row; the last: {message}"[:300]
        if failing.update(state=RunnerState.QUARANTINED, state_reason=reason) == 1:
            tell_runners(runner_id, RunnerState.QUARANTINED, reason)


def count_sound_run(runner_id: int) -> None:
    """Start the count anew after a run that ended without a fault of ours."""
    Runner.objects.filter(pk=runner_id).exclude(infra_failures=0).update(infra_failures=0)


def tell_runners(runner_id: int, kind: str, text: str) -> None:
    """Write an Event about a runner and wake the readers of the fleet's page."""
    name = Runner.objects.values_list("name", flat=True).get(pk=runner_id)
    Event.objects.create(topic=RUNNERS, kind=kind, text=f"{name}: {text}", at=timezone.now())
    transaction.on_commit(partial(announce, RUNNERS))
