from datetime import timedelta

from django.utils import timezone

from runners.models import RunnerState
from submissions.models import RunState, State
from tests.unit.pages import cast
from tests.unit.pages.conftest import BOARD


def queue_of(count: int) -> None:
    for number in range(count):
        submission = cast.add_submission(f"{BOARD}/k{number}", State.QUEUED)
        cast.add_run(submission, RunState.QUEUED)


def test_it_shows_an_idle_queue(db, page):
    text = page("/queue")

    assert "Nothing runs" in text
    assert "Nothing waits" in text


def test_it_shows_what_runs_and_what_waits_and_why(db, page):
    runner = cast.add_runner()
    submission = cast.add_submission(f"{BOARD}/running", State.RUNNING)
    cast.lease(runner, cast.add_run(submission, RunState.LEASED, stage="time", progress=0.3))
    queue_of(2)
    gpu = cast.add_submission("sm_90/GEMM/nn/fp32/wgmma", State.QUEUED)
    cast.add_run(gpu, RunState.QUEUED)

    text = page("/queue?fragment=rows")

    assert f"/submissions/{submission.pk}" in text
    assert "time on" in text
    assert "1 before it" in text
    assert "no runner for sm_90" in text


def test_it_asks_a_fixed_number_of_queries(db, page, django_assert_max_num_queries):
    cast.add_runner()
    queue_of(40)

    with django_assert_max_num_queries(5):
        page("/queue")


def test_it_shows_the_fleet(db, page, django_assert_max_num_queries):
    runner = cast.add_runner()
    cast.add_runner("gpu0", kind="gpu", archs=["sm_90"], last_seen_at=timezone.now() - timedelta(hours=2))
    cast.add_runner("cpu1", state=RunnerState.QUARANTINED, state_reason="three failures in a row")
    submission = cast.add_submission(f"{BOARD}/running", State.RUNNING)
    cast.lease(runner, cast.add_run(submission, RunState.LEASED, stage="check"))

    with django_assert_max_num_queries(4):
        text = page("/runners")

    for word in ("busy", "away", "quarantined", "three failures in a row", "check"):
        assert word in text


def test_it_shows_an_empty_fleet(db, page):
    assert "No runner has registered yet" in page("/runners")


def test_it_shows_one_runner_with_its_last_runs(db, page):
    cast.add_runner()
    submission = cast.add_submission(f"{BOARD}/typo", State.FAILED)
    cast.add_run(submission, RunState.FINISHED, "build_failed", message="does not compile")

    text = page("/runners/cpu0")

    assert "build failed" in text
    assert "14.2.0" in text
    assert "48.0\u00a0KiB" in text
    assert "performance" in text


def test_it_knows_no_other_runner(db, page):
    assert "there is no runner nobody" in page("/runners/nobody", status=404).casefold()
