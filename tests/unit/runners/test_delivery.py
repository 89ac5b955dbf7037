"""A result ends a lease once; late, repeated and contradicting ones."""

from dataclasses import replace

import pytest
from django.utils import timezone

from runners import leases
from runners.claims import claim
from runners.delivery import deliver
from runners.models import Lease
from runners.protocol import LeaseLost, Result
from submissions.models import Run, RunState, State
from submissions.secrets import run_secret_sha256
from tests.unit.runners.conftest import DIGEST


@pytest.fixture
def lease(store, make_runner, make_run):
    make_run(mode="check", kind="check")
    return claim(make_runner(device="a CPU", isolation="full").pk)


def a_result(lease, verdict="ok", code="run:ok", **changes):
    result = Result(
        verdict=verdict,
        code=code,
        message="",
        stage="report",
        stages_ms={"prepare": 1.0, "build": 2.0},
        evidence="measured",
        details={},
        cases=(),
        contestants={"candidate": DIGEST, "baseline": None, "incumbent": None},
        secret_sha256=run_secret_sha256(lease.run_id, lease.epoch),
        harness_version="0" * 64,
        processes=1,
        environment={},
    )
    return replace(result, **changes)


def test_it_ends_the_lease_and_the_run_together(lease):
    deliver(lease.token, lease.epoch, a_result(lease))
    lease.refresh_from_db()
    run = Run.objects.get()
    assert (lease.is_live, lease.end_reason, len(lease.result_sha256)) == (False, "result", 64)
    assert (run.state, run.verdict, run.code) == (RunState.FINISHED, "ok", "run:ok")
    assert run.record["runner"] == {"name": "cpu0", "device": "a CPU", "isolation": "full", "driver": None}
    assert run.submission.ending == State.CHECKED


def test_it_answers_a_repeated_result_the_same(lease):
    result = a_result(lease)
    deliver(lease.token, lease.epoch, result)
    before = list(Run.objects.values()), list(Lease.objects.values())
    deliver(lease.token, lease.epoch, result)
    assert (list(Run.objects.values()), list(Lease.objects.values())) == before


def test_it_refuses_another_result_for_the_same_lease(lease):
    deliver(lease.token, lease.epoch, a_result(lease))
    with pytest.raises(LeaseLost):
        deliver(lease.token, lease.epoch, a_result(lease, "wrong_result", "check:wrong"))
    assert Run.objects.get().verdict == "ok"


def test_it_refuses_a_late_result_and_changes_nothing(lease):
    Lease.objects.update(ends_at=timezone.now())
    leases.expire()
    again = claim(lease.runner_id)
    before = list(Run.objects.values()), list(Lease.objects.values())
    for epoch in (lease.epoch, again.epoch, 99):
        with pytest.raises(LeaseLost):
            deliver(lease.token, epoch, a_result(lease))
    with pytest.raises(LeaseLost):
        deliver("wrong", again.epoch, a_result(again))
    assert (list(Run.objects.values()), list(Lease.objects.values())) == before
    deliver(again.token, again.epoch, a_result(again))
    assert Run.objects.get().state == RunState.FINISHED


def test_it_requeues_after_a_fault_of_ours_and_counts_it(lease):
    deliver(lease.token, lease.epoch, a_result(lease, "infra_error", "run:engine-died"))
    run = Run.objects.get()
    assert (run.state, run.attempt) == (RunState.QUEUED, 2)
    lease.runner.refresh_from_db()
    assert lease.runner.infra_failures == 1


def test_it_never_requeues_after_the_entrants_fault_and_forgives_the_runner(lease):
    type(lease.runner).objects.update(infra_failures=2)
    deliver(lease.token, lease.epoch, a_result(lease, "wrong_result", "check:wrong"))
    assert (Run.objects.get().state, Run.objects.get().submission.ending) == (RunState.FINISHED, State.FAILED)
    lease.runner.refresh_from_db()
    assert lease.runner.infra_failures == 0


@pytest.mark.parametrize("verdict", ["runner_lost", "cancelled"])
def test_it_holds_an_orderly_stop_against_nobody(lease, verdict):
    deliver(lease.token, lease.epoch, a_result(lease, verdict, "run:runner-stopping"))
    assert Run.objects.get().state == RunState.QUEUED
    lease.runner.refresh_from_db()
    assert lease.runner.infra_failures == 0


def test_it_counts_a_result_that_contradicts_its_lease_against_the_runner(lease):
    deliver(lease.token, lease.epoch, a_result(lease, secret_sha256="0" * 64))
    assert Run.objects.get().state == RunState.QUEUED
    lease.runner.refresh_from_db()
    assert lease.runner.infra_failures == 1


def test_it_ends_a_lease_whose_run_went_on_without_it(lease):
    Run.objects.update(epoch=5)
    with pytest.raises(LeaseLost):
        deliver(lease.token, lease.epoch, a_result(lease))
    lease.refresh_from_db()
    assert (lease.is_live, lease.end_reason) == (False, "overtaken")
    with pytest.raises(LeaseLost):
        deliver(lease.token, lease.epoch, a_result(lease))


def test_it_takes_an_unknown_verdict_for_a_fault_of_the_runner(lease):
    deliver(lease.token, lease.epoch, a_result(lease, "splendid"))
    assert Run.objects.get().state == RunState.QUEUED
    lease.runner.refresh_from_db()
    assert lease.runner.infra_failures == 1
