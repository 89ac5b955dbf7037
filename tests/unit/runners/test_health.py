"""Which failures are held against a runner: one a submission, three in a row, and the canary in between."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runners import leases
from runners.claims import claim
from runners.delivery import deliver
from runners.models import Lease, Runner, RunnerState
from runners.operations import operate
from submissions.cancel import cancel_run
from submissions.models import Event, Run, RunState, State
from tests.unit.runners.conftest import KERNEL_ID
from tests.unit.runners.test_delivery import a_result
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def runner(make_runner):
    return make_runner()


def end(runner, verdict="ok", code="run:ok", message="no luck"):
    """Claim the runner's next run, end it, and return it."""
    lease = claim(runner.pk)
    deliver(lease.token, lease.epoch, a_result(lease, verdict, code, message=message))
    return Run.objects.get(pk=lease.run_id)


def fail(runner):
    return end(runner, "infra_error", "run:engine-died")


def fall_silent(runner):
    lease = claim(runner.pk)
    Lease.objects.filter(pk=lease.pk).update(ends_at=timezone.now() - timedelta(seconds=1))
    assert leases.expire() == 1


def put_back_last(run):
    Run.objects.filter(pk=run.pk).update(queued_at=timezone.now(), priority=0)


def condition(runner):
    runner.refresh_from_db()
    return runner.state, runner.infra_failures


def failing_twice(runner, make_run):
    """Two submissions in a row fail; return the canary that this sends."""
    for _ in range(2):
        make_run(kind="check", mode="check", priority=1)
        put_back_last(fail(runner))
    runner.refresh_from_db()
    return runner.canary


def test_it_counts_a_submission_once_however_often_it_is_tried(runner, make_run):
    make_run(kind="check", mode="check")
    runs = [fail(runner) for _ in range(3)]
    assert (runs[-1].state, runs[-1].submission.ending) == (RunState.FINISHED, State.ERRORED)
    assert condition(runner) == (RunnerState.ACTIVE, 1)


def test_it_counts_a_silent_runner_once_a_submission(runner, make_run):
    make_run(kind="check", mode="check")
    for _ in range(3):
        fall_silent(runner)
    assert condition(runner) == (RunnerState.ACTIVE, 1)


def test_it_counts_two_submissions_as_two_however_they_take_turns(runner, make_run):
    canary = failing_twice(runner, make_run)
    cancel_run(canary.pk, "ada")
    for _ in range(4):
        put_back_last(fail(runner))
        cancel_waiting_canary(runner)
    assert condition(runner) == (RunnerState.ACTIVE, 2)


def cancel_waiting_canary(runner):
    runner.refresh_from_db()
    if runner.canary.state == RunState.QUEUED:
        cancel_run(runner.canary.pk, "ada")


def test_it_quarantines_after_three_submissions_in_a_row(runner, make_run):
    cancel_run(failing_twice(runner, make_run).pk, "ada")
    make_run(kind="check", mode="check", priority=5)
    fail(runner)
    assert condition(runner) == (RunnerState.QUARANTINED, 3)
    assert runner.state_reason == (
        "infrastructure failures in runs of 3 different submissions in a row; the last: no luck"
    )
    assert Event.objects.filter(topic="runners", kind="quarantined").count() == 1
    assert claim(runner.pk) is None


def test_it_counts_runs_without_a_submission_one_by_one(runner, make_run):
    for _ in range(2):
        Run.objects.filter(pk=make_run(kind="recheck", priority=1).pk).update(submission=None)
        put_back_last(fail(runner))
    assert condition(runner) == (RunnerState.ACTIVE, 2)


def test_it_forgets_the_failures_after_a_sound_run(runner, make_run):
    make_run(kind="check", mode="check")
    failed = fail(runner)
    make_run(kind="check", mode="check", priority=5)
    end(runner, "wrong_result", "check:wrong-result")
    assert condition(runner) == (RunnerState.ACTIVE, 0)
    assert fail(runner).pk == failed.pk
    assert condition(runner) == (RunnerState.ACTIVE, 1)


def test_it_forgets_the_failures_when_an_operator_releases_the_runner(runner, make_run):
    cancel_run(failing_twice(runner, make_run).pk, "ada")
    make_run(kind="check", mode="check", priority=5)
    failed = fail(runner)
    operate(runner.pk, "clear_quarantine", "ada")
    assert condition(runner) == (RunnerState.ACTIVE, 0)
    assert fail(runner).pk == failed.pk
    assert condition(runner) == (RunnerState.ACTIVE, 1)


def test_it_sends_no_canary_after_one_submission(runner, make_run):
    make_run(kind="check", mode="check")
    for _ in range(3):
        fail(runner)
    assert condition(runner) == (RunnerState.ACTIVE, 1)
    assert runner.canary is None


def test_it_sends_a_canary_after_the_second_submission(runner, make_run):
    canary = failing_twice(runner, make_run)
    assert (canary.kind, canary.kernel_id, canary.submission) == ("recheck", zoo.BASELINE, None)
    assert (canary.state, canary.arch) == (RunState.QUEUED, "x86_64")
    assert claim(runner.pk).run_id == canary.pk
    assert Run.objects.filter(submission=None).count() == 1


def test_it_sends_no_second_canary_while_one_waits(runner, make_run):
    canary = failing_twice(runner, make_run)
    Run.objects.filter(submission__isnull=False).update(priority=canary.priority + 1)
    assert fail(runner).submission is not None
    assert condition(runner) == (RunnerState.ACTIVE, 2)
    assert Run.objects.get(submission=None) == canary


def test_it_sends_a_dry_run_as_the_canary_of_dry_runs(make_runner, make_run):
    runner = make_runner(limits={"dry_run_archs": ["sm_90"]})
    for _ in range(2):
        make_run("sm_90/Vector/saxpy/fp32/fast", kind="dry_run", mode="check", priority=1)
        fall_silent(runner)
        Run.objects.filter(priority=1).update(priority=0)
    runner.refresh_from_db()
    canary = runner.canary
    assert (canary.kind, canary.kernel_id) == ("dry_run", "sm_90/Vector/saxpy/fp32/reference_impl")
    assert claim(runner.pk).run_id == canary.pk


def test_it_forgets_the_failures_after_a_sound_canary(runner, make_run):
    canary = failing_twice(runner, make_run)
    assert end(runner).pk == canary.pk
    assert condition(runner) == (RunnerState.ACTIVE, 0)
    another = failing_twice(runner, make_run)
    assert another.pk != canary.pk


@pytest.mark.parametrize("verdict", ["infra_error", "unstable", "wrong_result", "crashed"])
def test_it_quarantines_at_once_after_a_failed_canary(runner, make_run, verdict):
    canary = failing_twice(runner, make_run)
    assert end(runner, verdict, "run:failed", message="out of luck").pk == canary.pk
    assert condition(runner)[0] == RunnerState.QUARANTINED
    assert runner.state_reason == (
        f"its canary, the baseline of {KERNEL_ID.rsplit('/', 1)[0]} against itself, failed: out of luck"
    )


def test_it_quarantines_at_once_a_runner_that_its_canary_silences(runner, make_run):
    failing_twice(runner, make_run)
    fall_silent(runner)
    assert condition(runner)[0] == RunnerState.QUARANTINED


@pytest.mark.parametrize("verdict", ["runner_lost", "cancelled"])
def test_it_holds_an_orderly_stop_during_the_canary_against_nobody(runner, make_run, verdict):
    canary = failing_twice(runner, make_run)
    end(runner, verdict, "run:runner-stopping")
    assert condition(runner) == (RunnerState.ACTIVE, 2)
    assert claim(runner.pk).run_id == canary.pk


def test_it_keeps_a_canary_for_its_runner(make_runner, make_run):
    other = make_runner("cpu1", state=RunnerState.PAUSED)
    runner = make_runner("cpu0")
    canary = failing_twice(runner, make_run)
    operate(other.pk, "resume", "ada")
    assert claim(other.pk).run.submission is not None
    assert claim(runner.pk).run_id == canary.pk


def test_it_gives_a_retried_canary_to_its_runner_though_another_one_fits(make_runner, make_run):
    runner = make_runner("cpu0")
    canary = failing_twice(runner, make_run)
    fail(runner)
    operate(runner.pk, "clear_quarantine", "ada")
    make_runner("cpu1")
    assert claim(runner.pk).run_id == canary.pk


@pytest.mark.parametrize(
    "gone", [{"state": RunnerState.RETIRED}, {"last_seen_at": timezone.now() - timedelta(hours=1)}]
)
def test_it_gives_the_canary_of_a_runner_that_cannot_take_it_to_another(make_runner, make_run, gone):
    canary = failing_twice(make_runner("cpu0"), make_run)
    Runner.objects.update(**gone)
    assert claim(make_runner("cpu1").pk).run_id == canary.pk


def test_it_keeps_a_sound_runner_whatever_is_sent(runner, make_run):
    for _ in range(6):
        make_run(kind="check", mode="check")
    canaries = 0
    while (lease := claim(runner.pk)) is not None:
        is_canary = lease.run.submission is None
        canaries += is_canary
        verdict = ("ok", "run:ok") if is_canary else ("infra_error", "run:engine-died")
        deliver(lease.token, lease.epoch, a_result(lease, *verdict))
    assert condition(runner)[0] == RunnerState.ACTIVE
    assert canaries >= 3
    assert set(Run.objects.exclude(submission=None).values_list("verdict", flat=True)) == {"infra_error"}
