"""Take a runner's result: once per lease, the same answer when repeated, and none for a lease that is lost."""

import hashlib

from django.db import transaction

from runners.health import count_infra_failure, count_sound_run, is_canary_of
from runners.leases import close
from runners.models import Lease, Runner
from runners.protocol import LeaseLost, Result
from submissions.evaluation.canonical import canonical_json
from submissions.evaluation.verdicts import Verdict
from submissions.models import Run, RunState
from submissions.results import record_result

RESULT = "result"


def deliver(token: str, epoch: int, result: Result) -> None:
    """End the lease with its result; raises LeaseLost where it is gone, or ended with another result."""
    document = result.as_json()
    digest = hashlib.sha256(canonical_json(document)).hexdigest()
    with transaction.atomic():
        lease = Lease.objects.select_related("runner").filter(token=token, epoch=epoch).first()
        if lease is None:
            raise LeaseLost("there is no such lease")
        if not close(lease.pk, RESULT, digest):
            _answer_again(token, digest)
            return
        is_taken = record_result(lease.run_id, epoch, document, _maker(lease.runner))
        if is_taken:
            _count(lease, result)
        else:
            Lease.objects.filter(pk=lease.pk).update(end_reason="overtaken")
    if not is_taken:
        raise LeaseLost("the run went on without this lease")


def _answer_again(token: str, digest: str) -> None:
    """Accept a repeated result silently; the site's answer to the first may have been lost."""
    ended = Lease.objects.filter(token=token, end_reason=RESULT, result_sha256=digest)
    if not ended.exists():
        raise LeaseLost("the lease has ended, and not with this result")


def _maker(runner: Runner) -> dict[str, str | None]:
    return {
        "name": runner.name,
        "device": runner.device,
        "isolation": runner.isolation,
        "driver": runner.hardware.get("driver"),
    }


def _count(lease: Lease, result: Result) -> None:
    # A runner that an operator stops, or a run that the entrant cancels, says nothing of its health.
    if result.verdict in (Verdict.RUNNER_LOST, Verdict.CANCELLED):
        return
    run = Run.objects.only("state", "verdict").get(pk=lease.run_id)
    if run.verdict == Verdict.CANCELLED:
        return
    if run.state == RunState.QUEUED or _is_our_fault(lease.runner, run):
        count_infra_failure(lease.runner_id, result.message)
    else:
        count_sound_run(lease.runner_id)


def _is_our_fault(runner: Runner, run: Run) -> bool:
    if is_canary_of(runner, run):
        return run.verdict != Verdict.OK
    return Verdict(run.verdict).is_infra
