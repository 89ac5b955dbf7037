"""What /api/health says of the queue and the fleet, and that it stays cheap."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runners.models import ALIVE_SECONDS, RunnerState
from submissions.kernel_store.create import create_store
from submissions.models import Run, RunState
from tests.unit.runners.conftest import create_run, create_runner

AWAY = timedelta(seconds=ALIVE_SECONDS + 5)
SEEN_LATE = timedelta(seconds=ALIVE_SECONDS - 25)
SM_90 = "sm_90/Vector/saxpy/fp32/fast"


@pytest.fixture(autouse=True)
def store(db, settings, tmp_path):
    settings.KERNEL_REPO_PATH = tmp_path / "kernel_data.git"
    create_store(settings.KERNEL_REPO_PATH, "Test zoo")


@pytest.fixture
def health(client):
    return lambda: client.get("/api/health").json()


def seen_ago(ago):
    return {"last_seen_at": timezone.now() - ago}


def queued_ago(**ago):
    return {"queued_at": timezone.now() - timedelta(**ago)}


def test_it_is_ok_while_runs_wait_for_a_runner_that_takes_them(health):
    create_runner("cpu0", state=RunnerState.QUARANTINED)
    create_runner("cpu1")
    create_run()
    create_run(state=RunState.LEASED, **queued_ago(hours=1))
    answer = health()
    assert (answer["status"], answer["problems"]) == ("ok", [])
    assert answer["queue"] == {"x86_64": {"queued": 1, "leased": 1}}
    assert answer["runners"] == {"registered": 2, "alive": 2}


def test_it_is_ok_without_runners_while_nothing_waits(health):
    create_runner("cpu0", state=RunnerState.QUARANTINED)
    create_runner("cpu1", **seen_ago(AWAY))
    create_run(state=RunState.FINISHED)
    assert (health()["status"], health()["problems"]) == ("ok", [])


def test_it_counts_as_alive_who_is_alive_to_the_queue(health):
    create_runner("late", **seen_ago(SEEN_LATE))
    create_runner("away", **seen_ago(AWAY))
    create_runner("paused", state=RunnerState.PAUSED)
    create_runner("retired", state=RunnerState.RETIRED)
    assert health()["runners"] == {"registered": 3, "alive": 2}


@pytest.mark.parametrize(
    ("runner", "clause"),
    [
        ({"state": RunnerState.QUARANTINED, "state_reason": "no luck"}, "cpu0 is quarantined (no luck)"),
        ({"state": RunnerState.PAUSED}, "cpu0 is paused"),
        (
            {"state": RunnerState.QUARANTINED, "state_reason": "no luck", "seen_minutes_ago": 7},
            "cpu0 is quarantined (no luck)",
        ),
        ({"seen_minutes_ago": 7}, "cpu0 is not alive (last seen 7 min ago)"),
    ],
)
def test_it_names_the_runners_that_cannot_take_what_waits(health, runner, clause):
    minutes = runner.get("seen_minutes_ago", 0)
    state = {name: value for name, value in runner.items() if name != "seen_minutes_ago"}
    create_runner("cpu0", **state, **seen_ago(timedelta(minutes=minutes)))
    for _ in range(3):
        create_run()
    answer = health()
    assert answer["status"] == "degraded"
    assert answer["problems"] == [f"3 runs for x86_64 wait and no runner can take them: {clause}"]


def test_it_names_every_runner_of_an_arch_and_no_other(health):
    create_runner("cpu0", state=RunnerState.PAUSED, state_reason="new fan")
    create_runner("cpu1", state=RunnerState.QUARANTINED, state_reason="no luck")
    create_runner("cpu2", state=RunnerState.RETIRED)
    create_runner("gpu0", archs=["sm_90"], kind="gpu")
    create_run()
    create_run(SM_90)
    assert health()["problems"] == [
        "1 run for x86_64 waits and no runner can take it: cpu0 is paused (new fan), cpu1 is quarantined (no luck)"
    ]


def test_it_names_an_arch_for_which_no_runner_ever_came(health):
    create_runner("cpu0", limits={"dry_run_archs": ["sm_90"]})
    create_run(SM_90, kind="dry_run")
    create_run(SM_90)
    create_run(SM_90, kind="check")
    assert health()["problems"] == ["2 runs for sm_90 wait and no runner can take them: none has registered"]


def test_it_names_a_queue_that_is_too_slow(health):
    create_runner("cpu0")
    create_run(**queued_ago(minutes=14))
    assert health()["status"] == "ok"
    create_run(kind="check", **queued_ago(minutes=22))
    answer = health()
    assert answer["status"] == "degraded"
    assert answer["problems"] == ["2 runs for x86_64 wait, the oldest for 22 min"]


def test_it_says_once_that_what_nobody_can_take_waits_long(health):
    create_runner("cpu0", state=RunnerState.PAUSED)
    create_run(**queued_ago(minutes=22))
    assert len(health()["problems"]) == 1


def test_it_costs_as_much_for_a_long_queue_as_for_none(client, django_assert_num_queries):
    with django_assert_num_queries(3):
        client.get("/api/health")
    for number in range(4):
        create_runner(f"cpu{number}", state=RunnerState.PAUSED)
        create_run(SM_90)
        create_run()
    assert Run.objects.count() == 8
    with django_assert_num_queries(3):
        client.get("/api/health")
