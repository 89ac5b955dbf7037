from uuid import uuid4

import pytest

from submissions.cancel import cancel_run, request_cancel
from submissions.kernel_package.errors import Rejected
from submissions.lifecycle import submission_started
from submissions.models import Run, RunState, State
from submissions.results import record_result, run_lost
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")


def refusal(verb, *given):
    with pytest.raises(Rejected) as refused:
        verb(*given)
    return refused.value.code


def test_it_cancels_at_once_while_the_run_waits():
    submission = zoo.send()
    zoo.work()
    request_cancel(submission.pk, "alice")
    run = submission.runs.get()
    assert (run.state, run.verdict) == (RunState.FINISHED, "cancelled")
    assert not submission_started(submission.pk)
    zoo.work()
    submission = zoo.fresh(submission)
    assert (submission.state, submission.code) == (State.CANCELLED, "submission:cancelled")
    entry = zoo.ledger(submission)
    assert entry["submission.json"]["state"] == "cancelled"
    assert "run-1.json" not in entry


def test_it_cancels_before_validation():
    submission = zoo.send()
    request_cancel(submission.pk, "alice")
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    assert not Run.objects.exists()


def test_it_changes_nothing_when_asked_twice():
    submission = zoo.send()
    request_cancel(submission.pk, "alice")
    request_cancel(submission.pk, "alice")
    zoo.work()
    request_cancel(submission.pk, "alice")
    assert zoo.fresh(submission).state == State.CANCELLED


def test_it_asks_the_runner_to_stop_and_ends_with_its_answer():
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    request_cancel(submission.pk, "alice")
    assert Run.objects.get().is_cancel_requested
    assert zoo.fresh(submission).state == State.RUNNING
    assert record_result(run.pk, run.epoch, zoo.bad_result("cancelled", "run:cancelled"), zoo.RUNNER)
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    assert zoo.ledger(submission)["run-1.json"]["verdict"] == "cancelled"


@pytest.mark.parametrize("how", ["ok", "lost"])
def test_it_ends_cancelled_however_the_run_ends(how):
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    result = zoo.good_result(run)
    request_cancel(submission.pk, "alice")
    if how == "ok":
        record_result(run.pk, run.epoch, result, zoo.RUNNER)
    else:
        run_lost(run.pk, run.epoch, "the runner fell silent")
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    assert Run.objects.get().verdict == "cancelled"
    assert zoo.on_main() == {}


def test_it_refuses_once_measured_or_ended():
    submission = zoo.measure(zoo.send())
    assert refusal(request_cancel, submission.pk, "alice") == "state:not-cancellable"
    failed = zoo.fail(zoo.send(body="z[i] = 0;"), "crashed", "run:crashed")
    assert refusal(request_cancel, failed.pk, "alice") == "state:not-cancellable"


def test_it_knows_no_other_submissions_and_runs():
    missing = uuid4()
    assert refusal(request_cancel, missing, "alice") == "missing:submission"
    assert refusal(cancel_run, missing, "alice") == "missing:run"


def test_it_cancels_a_run_with_its_submission():
    submission = zoo.send()
    zoo.work()
    cancel_run(submission.runs.get().pk, "staff")
    assert zoo.fresh(submission).ending == State.CANCELLED


def test_it_cancels_a_run_that_has_no_submission():
    run = zoo.lone_run()
    cancel_run(run.pk, "staff")
    assert Run.objects.get(pk=run.pk).is_cancel_requested
    Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED)
    cancel_run(run.pk, "staff")
    assert Run.objects.get(pk=run.pk).verdict == "cancelled"
    assert refusal(cancel_run, run.pk, "staff") == "state:not-cancellable"
