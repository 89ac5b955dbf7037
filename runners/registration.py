"""Enter a runner: a new life ends the leases of the old one at once; the operator's word on it stays."""

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runners.health import tell_runners
from runners.leases import end_leases_of
from runners.models import Runner, RunnerState
from runners.protocol import Registered, Registration
from submissions.kernel_package.errors import Rejected


def register(registration: Registration) -> Registered:
    """Create or renew the runner of that name; raises Rejected `runner:retired`."""
    now = timezone.now()
    with transaction.atomic():
        runner, is_new = Runner.objects.select_for_update().get_or_create(
            name=registration.name,
            defaults={**_facts(registration), "registered_at": now, "last_seen_at": now},
        )
        if runner.state == RunnerState.RETIRED:
            raise Rejected("runner:retired", f"runner {runner.name} is retired: register under another name")
        is_new_life = not is_new and runner.life != registration.life
        Runner.objects.filter(pk=runner.pk).update(**_facts(registration), last_seen_at=now)
        if is_new_life:
            end_leases_of(runner)
        if is_new:
            tell_runners(runner.pk, "registered", registration.device)
    return Registered(
        runner_id=runner.pk,
        heartbeat_seconds=settings.HEARTBEAT_SECONDS,
        lease_seconds=settings.LEASE_SECONDS,
    )


def seen(runner_id: int) -> None:
    """Note that the runner is there."""
    Runner.objects.filter(pk=runner_id).update(last_seen_at=timezone.now())


def _facts(registration: Registration) -> dict[str, object]:
    return {
        "kind": registration.kind,
        "archs": list(registration.archs),
        "version": registration.version,
        "life": registration.life,
        "device": registration.device,
        "isolation": registration.isolation,
        "hardware": dict(registration.hardware),
        "limits": dict(registration.limits),
    }
