"""Give a queued run to a runner: one transaction, one live lease per run and per runner.

The database's unique constraints are what makes this safe; the code above them only picks in turn.
"""

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from runners.health import is_canary_of
from runners.models import Lease, Runner, RunnerState
from submissions.evaluation.verdicts import STAGES
from submissions.lifecycle import submission_started
from submissions.live import QUEUE, RUNNERS, announce
from submissions.models import Run, RunState

_CANDIDATES = 50


class _Taken(Exception):
    """The run went elsewhere between the look and the swap."""


def claim(runner_id: int) -> Lease | None:
    """Return the runner's live lease, or a new one on the next run that fits, or None."""
    held = held_lease(runner_id)
    if held is not None:
        return held
    runner = Runner.objects.get(pk=runner_id)
    if runner.state != RunnerState.ACTIVE:
        return None
    for run in _fitting_runs(runner):
        try:
            with transaction.atomic():
                return _take(run, runner)
        except _Taken:
            continue
        except IntegrityError:
            # Another call of the same runner won: the lost reply's lease is the answer.
            return held_lease(runner_id)
    return None


def held_lease(runner_id: int) -> Lease | None:
    """Return the live lease of a runner, if it holds one."""
    leases = Lease.objects.live().filter(runner_id=runner_id, ends_at__gt=timezone.now())
    return leases.select_related("run__submission", "runner").first()


def _fitting_runs(runner: Runner) -> Iterator[Run]:
    capabilities = runner.capabilities
    archs = [*capabilities.archs, *capabilities.dry_run_archs]
    queued = Run.objects.queued().for_archs(archs).filter(is_cancel_requested=False)
    others = Runner.objects.active().alive().exclude(pk=runner.pk).exclude(canary=None)
    free = queued.exclude(pk__in=others.values("canary"))
    for run in free.in_turn().defer("record", "log")[:_CANDIDATES]:
        if capabilities.accepts(run.kind, run.arch) and not _should_go_elsewhere(run, runner):
            yield run


def _should_go_elsewhere(run: Run, runner: Runner) -> bool:
    """True for a retry that this runner failed last while another one that fits is there."""
    # A canary asks after one runner: that another one is well is no answer.
    if run.attempt == 1 or is_canary_of(runner, run):
        return False
    last = Lease.objects.filter(run=run).order_by("-epoch").first()
    if last is None or last.runner_id != runner.pk:
        return False
    others = Runner.objects.active().alive().exclude(pk=runner.pk)
    return any(other.capabilities.accepts(run.kind, run.arch) for other in others)


def _take(run: Run, runner: Runner) -> Lease:
    now = timezone.now()
    epoch = run.epoch + 1
    swapped = Run.objects.filter(
        pk=run.pk, state=RunState.QUEUED, epoch=run.epoch, is_cancel_requested=False
    ).update(
        state=RunState.LEASED,
        epoch=epoch,
        runner_name=runner.name,
        stage=STAGES[0],
        progress=0.0,
        started_at=now,
        log="",
    )
    # The runner may have been paused since it was read; a paused one takes nothing new.
    if swapped != 1 or not _touch_active(runner, now) or not submission_started(run.submission_id):
        raise _Taken
    lease = Lease.objects.create(
        token=secrets.token_hex(32),
        run_id=run.pk,
        runner=runner,
        epoch=epoch,
        claimed_at=now,
        ends_at=now + timedelta(seconds=settings.LEASE_SECONDS),
    )
    transaction.on_commit(partial(announce, QUEUE))
    transaction.on_commit(partial(announce, RUNNERS))
    return Lease.objects.select_related("run__submission", "runner").get(pk=lease.pk)


def _touch_active(runner: Runner, now: datetime) -> bool:
    active = Runner.objects.filter(pk=runner.pk, state=RunnerState.ACTIVE, life=runner.life)
    return active.update(last_seen_at=now) == 1
