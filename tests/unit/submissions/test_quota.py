"""What is charged against a submitter's day: all that a runner began to build, however it ended."""

import pytest
from django.utils import timezone

from runners.claims import claim
from runners.leases import enter_stage, expire
from runners.models import Lease, Runner
from submissions.cancel import request_cancel
from submissions.models import State, Submission
from submissions.quota import quota_of
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")

LIMIT = 5


@pytest.fixture(autouse=True)
def limit(settings):
    settings.SUBMISSIONS_PER_DAY = LIMIT


@pytest.fixture
def runner():
    now = timezone.now()
    return Runner.objects.create(
        name="cpu0", kind="cpu", archs=["x86_64"], life="1", registered_at=now, last_seen_at=now
    )


@pytest.fixture
def submission():
    submission = zoo.send()
    zoo.work()
    return submission


def charged():
    return LIMIT - quota_of(zoo.ALICE).remaining


def lose(runner, *stages):
    """Claim the next run, enter stages, and fall silent."""
    lease = claim(runner.pk)
    for stage in stages:
        enter_stage(lease.token, lease.epoch, stage)
    Lease.objects.filter(pk=lease.pk).update(ends_at=timezone.now())
    assert expire() == 1


@pytest.mark.parametrize("building_attempt", [0, 1, 2])
def test_it_charges_an_errored_submission_that_any_attempt_built(submission, runner, building_attempt):
    for attempt in range(3):
        lose(runner, *(["build", "check"] if attempt == building_attempt else []))
    zoo.work()
    assert zoo.fresh(submission).state == State.ERRORED
    assert charged() == 1


def test_it_charges_an_errored_submission_whose_last_record_says_that_it_was_built(submission):
    for _ in range(3):
        run = zoo.claim(submission)
        zoo.record_result(run.pk, run.epoch, zoo.bad_result("infra_error", "run:engine-died"), zoo.RUNNER)
    zoo.work()
    assert zoo.fresh(submission).state == State.ERRORED
    assert charged() == 1


def test_it_charges_nothing_where_every_runner_was_lost_before_the_build(submission, runner):
    for _ in range(3):
        lose(runner)
    zoo.work()
    assert zoo.fresh(submission).state == State.ERRORED
    assert charged() == 0


def test_it_charges_nothing_for_an_error_before_any_run(submission):
    Submission.objects.update(state=State.ERRORED)
    assert charged() == 0


def test_it_charges_a_submission_cancelled_after_it_was_built(submission, runner):
    lose(runner, "build")
    request_cancel(submission.pk, "alice")
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    assert charged() == 1


def test_it_charges_nothing_for_a_submission_cancelled_before_it_ran(submission):
    request_cancel(submission.pk, "alice")
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    assert charged() == 0


@pytest.mark.parametrize("state", [State.FAILED, State.REJECTED, State.DECLINED, State.CHECKED, State.QUEUED])
def test_it_charges_every_other_state(submission, state):
    Submission.objects.update(state=state)
    assert charged() == 1


def test_it_asks_the_database_twice(submission, django_assert_num_queries):
    with django_assert_num_queries(2):
        quota_of(zoo.ALICE)
