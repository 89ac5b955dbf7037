"""Hold infrastructure failures against a runner, and take it out until a person looks at it.

Whoever sends a package can make its runs fail, so one submission counts once in a row, however often it is tried;
and after the second one the runner shows with a canary, which no entrant can spoil, whether it is sound.
"""

from functools import partial

from django.db import transaction
from django.utils import timezone

from runners.models import Lease, Runner, RunnerState
from submissions.live import RUNNERS, announce
from submissions.models import Event, Run, RunState
from submissions.scheduling import schedule_canary

CANARY_AFTER = 2
QUARANTINE_AFTER = 3


def count_infra_failure(runner_id: int, message: str) -> None:
    """Hold the failure of the runner's last run against it.

    The third submission in a row to fail quarantines the runner, the second sends its canary, and the failure of
    that canary quarantines it at once. A run without a submission counts by itself.
    """
    with transaction.atomic():
        runner = Runner.objects.select_for_update(of=("self",)).get(pk=runner_id)
        run = _last_run(runner)
        failing = _failing_with(runner, run)
        Runner.objects.filter(pk=runner_id).update(failing_subjects=failing, infra_failures=len(failing))
        if is_canary_of(runner, run):
            board = run.kernel_id.rsplit("/", 1)[0]
            _quarantine(runner, f"its canary, the baseline of {board} against itself, failed: {message}")
        elif len(failing) >= QUARANTINE_AFTER:
            in_a_row = f"infrastructure failures in runs of {QUARANTINE_AFTER} different submissions in a row"
            _quarantine(runner, f"{in_a_row}; the last: {message}")
        elif len(failing) >= CANARY_AFTER:
            _send_canary(runner, run)


def count_sound_run(runner_id: int) -> None:
    """Start the count anew after a run that ended without a fault of ours."""
    failing = Runner.objects.filter(pk=runner_id).exclude(infra_failures=0)
    failing.update(infra_failures=0, failing_subjects=[])


def is_canary_of(runner: Runner, run: Run) -> bool:
    """True for the run that shows whether this runner is sound: it has no entrant who could be at fault."""
    return runner.canary_id == run.pk


def tell_runners(runner_id: int, kind: str, text: str) -> None:
    """Write an Event about a runner and wake the readers of the fleet's page."""
    name = Runner.objects.values_list("name", flat=True).get(pk=runner_id)
    Event.objects.create(topic=RUNNERS, kind=kind, text=f"{name}: {text}", at=timezone.now())
    transaction.on_commit(partial(announce, RUNNERS))


def _last_run(runner: Runner) -> Run:
    # A runner holds one lease at a time, so its newest is the one that has just ended.
    lease = Lease.objects.filter(runner=runner).select_related("run").defer("run__record", "run__log").latest("pk")
    return lease.run


def _failing_with(runner: Runner, run: Run) -> list[str]:
    # Whoever starts the count anew only sets it to 0: what it does not cover is of an earlier row of failures.
    failing: list[str] = runner.failing_subjects[: runner.infra_failures]
    subject = str(run.submission_id or run.pk)
    return failing if subject in failing else [*failing, subject]


def _quarantine(runner: Runner, reason: str) -> None:
    reason = reason[:300]
    active = Runner.objects.active().filter(pk=runner.pk)
    if active.update(state=RunnerState.QUARANTINED, state_reason=reason) == 1:
        tell_runners(runner.pk, RunnerState.QUARANTINED, reason)


def _send_canary(runner: Runner, failed: Run) -> None:
    is_waiting = runner.canary is not None and runner.canary.state != RunState.FINISHED
    if runner.state == RunnerState.ACTIVE and not is_waiting:
        Runner.objects.filter(pk=runner.pk).update(canary=schedule_canary(failed))
