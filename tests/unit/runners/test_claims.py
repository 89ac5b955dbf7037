"""Who gets which run, and that a claim is one step."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runners.claims import claim
from runners.models import Lease, RunnerState
from submissions.models import RunState, State


def test_it_gives_runs_in_turn(make_runner, make_run):
    first, second = make_run(), make_run()
    urgent = make_run(priority=5)
    claimed = [claim(make_runner(f"cpu{number}").pk).run_id for number in range(3)]
    assert claimed == [urgent.pk, first.pk, second.pk]


def test_it_moves_run_and_submission_together(make_runner, make_run, settings):
    run, runner = make_run(), make_runner()
    lease = claim(runner.pk)
    run.refresh_from_db()
    assert (run.state, run.epoch, run.runner_name, run.stage) == (RunState.LEASED, 1, "cpu0", "prepare")
    assert run.started_at is not None
    assert run.submission.state == State.RUNNING
    assert (lease.epoch, lease.is_live) == (1, True)
    assert lease.ends_at - lease.claimed_at == timedelta(seconds=settings.LEASE_SECONDS)


def test_it_answers_a_repeated_claim_with_the_same_lease(make_runner, make_run):
    make_run(), make_run()
    runner = make_runner()
    assert claim(runner.pk).token == claim(runner.pk).token
    assert Lease.objects.count() == 1


def test_it_gives_nothing_where_nothing_fits(make_runner, make_run):
    make_run("aarch64/Vector/saxpy/fp32/fast")
    make_run("sm_90/Vector/saxpy/fp32/fast", kind="dry_run")
    assert claim(make_runner().pk) is None


def test_it_gives_a_dry_run_to_a_runner_without_the_device(make_runner, make_run):
    run = make_run("sm_90/Vector/saxpy/fp32/fast", kind="dry_run")
    make_run("sm_90/Vector/saxpy/fp32/fast", kind="measure", priority=9)
    runner = make_runner(limits={"dry_run_archs": ["sm_90"]})
    assert claim(runner.pk).run_id == run.pk


@pytest.mark.parametrize("state", [RunnerState.PAUSED, RunnerState.QUARANTINED, RunnerState.RETIRED])
def test_it_gives_nothing_to_a_runner_that_is_not_active(make_runner, make_run, state):
    make_run()
    assert claim(make_runner(state=state).pk) is None


def test_it_skips_a_run_that_was_cancelled(make_runner, make_run):
    make_run(is_cancel_requested=True)
    moved_on = make_run()
    type(moved_on.submission).objects.filter(pk=moved_on.submission_id).update(state=State.CANCELLED)
    left = make_run()
    assert claim(make_runner().pk).run_id == left.pk
    moved_on.refresh_from_db()
    assert (moved_on.state, moved_on.epoch) == (RunState.QUEUED, 0)


def test_it_claims_a_run_without_a_submission(make_runner, make_run):
    run = make_run(kind="sweep")
    type(run).objects.filter(pk=run.pk).update(submission=None)
    assert claim(make_runner().pk).run_id == run.pk


def test_it_sends_a_retry_to_another_runner_where_one_fits(make_runner, make_run):
    run, failed, other = make_run(attempt=2, epoch=1), make_runner("cpu0"), make_runner("cpu1")
    end_lease(run, failed)
    assert claim(failed.pk) is None
    assert claim(other.pk).run_id == run.pk


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"archs": ["aarch64"]},
        {"state": RunnerState.PAUSED},
        {"last_seen_at": timezone.now() - timedelta(hours=1)},
    ],
)
def test_it_retries_on_the_same_runner_where_no_other_fits(make_runner, make_run, other):
    run, failed = make_run(attempt=2, epoch=1), make_runner("cpu0")
    if other:
        make_runner("cpu1", **other)
    end_lease(run, failed)
    assert claim(failed.pk).run_id == run.pk


def test_it_gives_no_second_lease_beside_an_overdue_one(make_runner, make_run):
    make_run(), make_run()
    runner = make_runner()
    claim(runner.pk)
    Lease.objects.update(ends_at=timezone.now())
    assert claim(runner.pk) is None
    assert Lease.objects.live().count() == 1


def end_lease(run, runner):
    now = timezone.now()
    Lease.objects.create(
        token="old",
        run=run,
        runner=runner,
        epoch=1,
        is_live=False,
        claimed_at=now,
        ends_at=now,
        end_reason="expired",
    )
