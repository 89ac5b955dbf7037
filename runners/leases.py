"""Keep, end and sweep leases. A message for a lease that is not live, or of another epoch, changes nothing."""

from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runners.health import count_infra_failure
from runners.log_cap import add_chunk
from runners.models import Lease, Runner
from runners.protocol import LeaseLost, Order
from submissions.evaluation.verdicts import STAGES, Verdict
from submissions.lifecycle import note
from submissions.live import QUEUE, RUNNERS, announce
from submissions.models import Run, RunState
from submissions.results import run_lost

EXPIRED = "expired"
RESTART = "restart"
LOST = "lost"


def live_lease(token: str, epoch: int) -> Lease:
    """Return the live lease of that token and epoch; raises LeaseLost."""
    leases = Lease.objects.live().select_related("run", "runner").defer("run__record", "run__log")
    lease = leases.filter(token=token, epoch=epoch, run__epoch=epoch, run__state=RunState.LEASED).first()
    if lease is None:
        raise LeaseLost("the lease has ended")
    return lease


def heartbeat(token: str, epoch: int, stage: str, progress: float) -> Order:
    """Renew the lease and say whether to go on; an overdue lease that nobody swept yet is still renewed."""
    try:
        lease = live_lease(token, epoch)
    except LeaseLost:
        return Order(keep=False, reason=LOST)
    now = timezone.now()
    with transaction.atomic():
        renewed = Lease.objects.live().filter(pk=lease.pk)
        if renewed.update(ends_at=now + timedelta(seconds=settings.LEASE_SECONDS)) != 1:
            return Order(keep=False, reason=LOST)
        Runner.objects.filter(pk=lease.runner_id).update(last_seen_at=now)
        _show_progress(lease.run, stage, progress)
    if Run.objects.filter(pk=lease.run_id, is_cancel_requested=True).exists():
        return Order(keep=False, reason=Verdict.CANCELLED)
    return Order(keep=True)


def enter_stage(token: str, epoch: int, stage: str) -> None:
    """Write down what a leased run does now; raises LeaseLost."""
    lease = live_lease(token, epoch)
    with transaction.atomic():
        _show_progress(lease.run, stage, 0.0)


def add_log(token: str, epoch: int, sequence: int, text: str) -> None:
    """Append a numbered chunk to the run's log; a repeated or overtaken one changes nothing; raises LeaseLost."""
    lease = live_lease(token, epoch)
    with transaction.atomic():
        taken = Lease.objects.live().filter(pk=lease.pk, log_sequence__lt=sequence).update(log_sequence=sequence)
        if taken != 1:
            return
        log = Run.objects.values_list("log", flat=True).get(pk=lease.run_id)
        Run.objects.filter(pk=lease.run_id, epoch=epoch).update(log=add_chunk(log, text))
        note(lease.run.submission_id, "log", str(sequence))


def expire() -> int:
    """End every overdue lease and put its run back, or fail it after the last try; return how many."""
    overdue = list(Lease.objects.overdue().values_list("pk", flat=True))
    return sum(_end(pk, EXPIRED, "the runner fell silent during the run") for pk in overdue)


def end_leases_of(runner: Runner) -> int:
    """End the live leases of a runner's earlier life; return how many."""
    live = list(Lease.objects.live().filter(runner=runner).values_list("pk", flat=True))
    return sum(_end(pk, RESTART, "the runner was started anew during the run") for pk in live)


def close(lease_id: int, reason: str, result_sha256: str = "") -> bool:
    """End one live lease; False where somebody else did. The caller settles the run in the same transaction."""
    changes = {"is_live": False, "ended_at": timezone.now(), "end_reason": reason, "result_sha256": result_sha256}
    if Lease.objects.live().filter(pk=lease_id).update(**changes) != 1:
        return False
    transaction.on_commit(partial(announce, RUNNERS))
    return True


def _end(lease_id: int, reason: str, message: str) -> bool:
    with transaction.atomic():
        live = Lease.objects.live().filter(pk=lease_id)
        if reason == EXPIRED:
            # A heartbeat may have renewed it since the sweep looked.
            live = live.filter(ends_at__lte=timezone.now())
        lease = live.select_related("runner").first()
        if lease is None or not close(lease_id, reason):
            return False
        run_lost(lease.run_id, lease.epoch, message)
        if reason == EXPIRED:
            count_infra_failure(lease.runner_id, message)
    return True


def _show_progress(run: Run, stage: str, progress: float) -> None:
    if stage not in STAGES:
        return
    progress = min(1.0, max(0.0, progress))
    shown = Run.objects.filter(pk=run.pk, epoch=run.epoch, state=RunState.LEASED)
    shown.update(stage=stage, progress=progress)
    if run.stage != stage:
        note(run.submission_id, "stage", stage)
        transaction.on_commit(partial(announce, QUEUE))
