"""Heartbeats, logs and sweeps; what comes late or under another epoch changes nothing."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runners import leases
from runners.claims import claim
from runners.models import Lease, Runner, RunnerState
from runners.protocol import LeaseLost, Order
from runners.registration import register
from submissions.models import Event, RunState, State
from tests.unit.runners.conftest import a_registration

KEEP, LOST = Order(keep=True), Order(keep=False, reason="lost")


@pytest.fixture
def lease(store, make_runner, make_run):
    make_run()
    return claim(make_runner().pk)


def let_it_run_out(lease):
    Lease.objects.filter(pk=lease.pk).update(ends_at=timezone.now() - timedelta(seconds=1))


def test_it_renews_a_lease_and_shows_what_the_run_does(lease, settings):
    let_it_run_out(lease)
    assert leases.heartbeat(lease.token, lease.epoch, "build", 0.5) == KEEP
    lease.refresh_from_db()
    assert lease.ends_at > timezone.now() + timedelta(seconds=settings.LEASE_SECONDS - 10)
    assert (lease.run.stage, lease.run.progress) == ("build", 0.5)
    assert Event.objects.filter(kind="stage", text="build").count() == 1
    assert leases.expire() == 0


def test_it_does_not_believe_odd_progress(lease):
    leases.heartbeat(lease.token, lease.epoch, "build", 7.0)
    leases.heartbeat(lease.token, lease.epoch, "no such stage", 0.1)
    lease.run.refresh_from_db()
    assert (lease.run.stage, lease.run.progress) == ("build", 1.0)


def test_it_orders_a_cancelled_run_to_stop(lease):
    type(lease.run).objects.update(is_cancel_requested=True)
    assert leases.heartbeat(lease.token, lease.epoch, "build", 0.0) == Order(keep=False, reason="cancelled")


def test_it_lets_a_paused_runner_finish(lease):
    Runner.objects.update(state=RunnerState.PAUSED)
    assert leases.heartbeat(lease.token, lease.epoch, "build", 0.0) == KEEP


def test_it_knows_no_other_token_and_no_other_epoch(lease):
    before = list(Lease.objects.values()), list(type(lease.run).objects.values())
    for token, epoch in (("wrong", lease.epoch), (lease.token, lease.epoch + 1), (lease.token, 0)):
        assert leases.heartbeat(token, epoch, "time", 1.0) == LOST
        with pytest.raises(LeaseLost):
            leases.enter_stage(token, epoch, "time")
        with pytest.raises(LeaseLost):
            leases.add_log(token, epoch, 1, "x")
    assert (list(Lease.objects.values()), list(type(lease.run).objects.values())) == before


def test_it_takes_each_log_chunk_once(lease):
    for sequence, text in ((1, "a"), (1, "a"), (2, "b"), (1, "a"), (4, "d")):
        leases.add_log(lease.token, lease.epoch, sequence, text)
    lease.run.refresh_from_db()
    assert lease.run.log == "abd"


def test_it_puts_the_run_of_a_silent_runner_back(lease):
    let_it_run_out(lease)
    assert leases.expire() == 1
    lease.refresh_from_db()
    run = lease.run
    assert (lease.is_live, lease.end_reason) == (False, "expired")
    assert (run.state, run.attempt, run.epoch) == (RunState.QUEUED, 2, 1)
    assert run.submission.state == State.QUEUED
    assert lease.runner.infra_failures == 1
    assert leases.heartbeat(lease.token, lease.epoch, "time", 0.9) == LOST
    assert leases.expire() == 0
    assert claim(lease.runner_id).epoch == 2


def test_it_fails_a_run_after_three_tries(lease):
    runner = lease.runner
    for _ in range(3):
        let_it_run_out(claim(runner.pk))
        leases.expire()
    lease.run.refresh_from_db()
    assert (lease.run.state, lease.run.verdict) == (RunState.FINISHED, "infra_error")
    assert lease.run.submission.ending == State.ERRORED
    assert claim(runner.pk) is None


def test_it_ends_a_cancelled_run_of_a_silent_runner(lease):
    type(lease.run).objects.update(is_cancel_requested=True)
    let_it_run_out(lease)
    leases.expire()
    lease.run.refresh_from_db()
    assert (lease.run.state, lease.run.verdict) == (RunState.FINISHED, "cancelled")


def test_it_does_not_end_a_lease_renewed_since_the_sweep_looked(lease):
    assert not leases._end(lease.pk, leases.EXPIRED, "silent")
    lease.refresh_from_db()
    assert lease.is_live


def test_it_ends_the_leases_of_an_earlier_life_at_once(lease):
    register(a_registration(life="life-1"))
    lease.refresh_from_db()
    assert lease.is_live
    register(a_registration(life="life-2"))
    lease.refresh_from_db()
    assert (lease.is_live, lease.end_reason) == (False, "restart")
    assert (lease.run.state, lease.run.attempt) == (RunState.QUEUED, 2)
    assert lease.runner.infra_failures == 0
