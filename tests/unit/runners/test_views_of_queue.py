"""What waits and who serves it: rows, reasons, estimates, the API and their query counts."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from runners.claims import claim
from runners.fleet import alive_archs, runner_row, runner_rows, runs_of
from runners.models import RunnerState
from runners.queue_view import queue_depths, queue_page, queue_rows
from submissions.kernel_package.errors import Rejected
from submissions.models import RunState

CUDA = "sm_90/Vector/saxpy/fp32/fast"


def finished(make_run, seconds, **changes):
    now = timezone.now()
    return make_run(
        state=RunState.FINISHED, started_at=now - timedelta(seconds=seconds), finished_at=now, **changes
    )


def test_it_shows_running_runs_first_then_those_in_turn(make_runner, make_run):
    first, second, third = make_run(), make_run(), make_run(CUDA)
    claim(make_runner().pk)
    rows = queue_rows()
    assert [(row.run, row.position, row.runner_kind) for row in rows] == [
        (first.pk, 0, "cpu"),
        (second.pk, 1, "cpu"),
        (third.pk, 1, "gpu"),
    ]
    assert (rows[0].is_running, rows[0].runner, rows[0].stage) == (True, "cpu0", "prepare")
    assert (rows[1].submitter, rows[1].board_id) == ("entrant-a", "x86_64/Vector/saxpy/fp32")
    assert [row.run for row in queue_rows("gpu")] == [third.pk]
    assert queue_depths() == {"sm_90": 1, "x86_64": 1}


@pytest.mark.parametrize(
    ("runner", "reason"),
    [
        (None, "no runner for x86_64 has registered yet"),
        ({"last_seen_at": timezone.now() - timedelta(hours=1)}, "every runner for x86_64 is away"),
        ({"state": RunnerState.PAUSED}, "every runner for x86_64 is paused or quarantined"),
        ({"state": RunnerState.RETIRED}, "no runner for x86_64 has registered yet"),
        ({}, "next in turn"),
    ],
)
def test_it_says_why_a_run_waits(make_runner, make_run, runner, reason):
    make_run(), make_run()
    if runner is not None:
        make_runner(**runner)
    rows = queue_rows()
    assert rows[0].waits_for == reason
    if reason == "next in turn":
        assert rows[1].waits_for == "1 before it"


def test_it_estimates_from_recent_runs_of_the_same_queue(make_runner, make_run):
    make_run(), make_run(), make_run(CUDA)
    for seconds in (4, 10, 100):
        finished(make_run, seconds)
    assert [row.estimate_seconds for row in queue_rows()] == [10, 20, None]


def test_it_pages_and_names_a_cursor_that_is_gone(make_run):
    runs = [make_run() for _ in range(3)]
    page = queue_page(None, size=2)
    assert [row.run for row in page.rows] == [runs[0].pk, runs[1].pk]
    last = queue_page(None, page.next_cursor, size=2)
    assert ([row.run for row in last.rows], last.next_cursor) == ([runs[2].pk], "")
    with pytest.raises(Rejected, match="request:cursor"):
        queue_page(None, str(uuid.uuid4()))


def test_it_describes_the_fleet(make_runner, make_run):
    running = make_run()
    claim(make_runner("busy").pk)
    make_runner("idle")
    make_runner("away", last_seen_at=timezone.now() - timedelta(hours=1))
    make_runner("resting", state=RunnerState.PAUSED)
    make_runner("gone", state=RunnerState.RETIRED)
    finished(make_run, 3, runner_name="idle", verdict="ok")
    finished(make_run, 3, runner_name="idle", verdict="infra_error")
    rows = {row.name: row for row in runner_rows()}
    assert {name: row.condition for name, row in rows.items()} == {
        "busy": "busy", "idle": "idle", "away": "away", "resting": "paused",
    }  # fmt: skip
    assert rows["busy"].run.pk == running.pk
    assert (rows["idle"].runs_last_day, rows["idle"].infra_last_day) == (2, 1)
    assert runner_row("gone").condition == "retired"
    assert runner_row("nobody") is None
    assert len(runs_of("idle")) == 2
    assert alive_archs() == {"x86_64"}


def test_it_asks_the_database_a_fixed_number_of_times(make_runner, make_run, django_assert_num_queries):
    for number in range(5):
        make_run()
        claim(make_runner(f"cpu{number}").pk)
        make_run()
    with django_assert_num_queries(4):
        assert len(queue_rows()) == 10
    with django_assert_num_queries(3):
        assert all(row.run.submission for row in runner_rows())


def test_it_answers_the_queue_to_anyone(client, make_runner, make_run):
    make_run()
    waiting = make_run()
    claim(make_runner().pk)
    response = client.get("/api/queue")
    document = response.json()
    assert response.status_code == 200
    assert (document["depth"], document["next"]) == ({"x86_64": 1}, "")
    assert [run["position"] for run in document["runs"]] == [0, 1]
    assert document["runs"][1]["run"] == str(waiting.pk)
    assert document["runs"][1]["queued_at"].endswith("Z")
    again = client.get("/api/queue", HTTP_IF_NONE_MATCH=response["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/api/queue?runner=gpu").json()["runs"] == []


def test_it_answers_the_fleet_to_anyone(client, make_runner, make_run):
    make_run()
    claim(make_runner().pk)
    [runner] = client.get("/api/runners").json()["runners"]
    assert (runner["name"], runner["condition"], runner["run"]["stage"]) == ("cpu0", "busy", "prepare")


def test_it_refuses_what_the_api_does_not_know(client, db):
    for path in ("/api/queue?runner=tpu", "/api/queue?cursor=nonsense"):
        response = client.get(path)
        assert response.status_code == 400
        assert response.json()["error"]["code"].startswith("request:")
    assert client.post("/api/queue").status_code == 405
