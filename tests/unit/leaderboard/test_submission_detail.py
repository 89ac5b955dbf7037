"""One submission: its steps, its place in the queue, why it has no rank; the same after a rebuild."""

from datetime import timedelta
from uuid import uuid4

import pytest

from leaderboard import mirror
from leaderboard.board import submission_view
from leaderboard.queue_place import queue_place
from leaderboard.run_detail import run_view
from leaderboard.status import status_document
from submissions.models import Event, Run, RunState, State, Submission

from .documents import BOARD, RECEIVED, SHA, ledger_entry, run_document, submission_document

FAST = f"{BOARD}/fast"


def submission(state: State = State.RECEIVED, **changes) -> Submission:
    values = {
        "kernel_id": FAST,
        "submitter": "entrant-a",
        "package_sha256": SHA,
        "package_bytes": 10,
        "state": state,
        "received_at": RECEIVED,
    }
    return Submission.objects.create(**values | changes)


def run(owner: Submission | None = None, state: RunState = RunState.QUEUED, **changes) -> Run:
    values = {"submission": owner, "kernel_id": FAST, "arch": "x86_64", "state": state, "queued_at": RECEIVED}
    return Run.objects.create(**values | changes)


def event(owner: Submission, text: str, seconds: float) -> None:
    at = RECEIVED + timedelta(seconds=seconds)
    Event.objects.create(submission=owner, topic=f"submission.{owner.pk}", kind="state", text=text, at=at)


def steps(owner: Submission) -> dict[str, str]:
    return {step.name: step.status for step in submission_view(owner.pk).steps}


def test_it_knows_no_submission_that_is_not_there(db):
    assert submission_view(uuid4()) is None
    assert run_view(uuid4()) is None


def test_it_shows_the_steps_of_an_open_submission_with_their_durations(db):
    owner = submission(State.RUNNING)
    event(owner, "validated", 1)
    event(owner, "queued", 1.5)
    event(owner, "running", 4)
    run(owner, RunState.LEASED, stage="check", progress=0.4)
    view = submission_view(owner.pk)
    assert [(step.name, step.status) for step in view.steps] == [
        ("received", "done"),
        ("validated", "done"),
        ("queued", "done"),
        ("running", "current"),
        ("measured", "waiting"),
        ("accepted", "waiting"),
        ("published", "waiting"),
    ]
    assert [step.seconds for step in view.steps][:3] == [1.0, 0.5, 2.5]
    assert (view.current_run.stage, view.current_run.progress) == ("check", 0.4)
    assert view.event_id == Event.objects.latest("id").pk
    assert view.why_not_ranked_code == "rank:not-finished"


@pytest.mark.parametrize(
    ("state", "last"),
    [
        (State.REJECTED, "rejected"),
        (State.FAILED, "failed"),
        (State.CANCELLED, "cancelled"),
        (State.ERRORED, "errored"),
        (State.DECLINED, "declined"),
    ],
)
def test_it_ends_the_steps_where_the_walk_stopped(db, state, last):
    owner = submission(state, finished_at=RECEIVED + timedelta(seconds=9), code="package:schema", reason="wrong")
    view = submission_view(owner.pk)
    assert (view.steps[-1].name, view.steps[-1].status) == (last, "stopped")
    assert {step.status for step in view.steps[1:-1]} == {"skipped"}
    assert (view.why_not_ranked_code, view.why_not_ranked) == ("package:schema", "wrong")


def test_it_shows_a_declined_one_as_measured(db):
    owner = submission(
        State.DECLINED, finished_at=RECEIVED + timedelta(seconds=9), decision={"versus_incumbent": None}
    )
    run(owner, RunState.FINISHED, verdict="ok", record=run_document(uuid4(), FAST, owner.pk, verdict="ok"))
    assert steps(owner) == {
        "received": "done",
        "validated": "done",
        "queued": "done",
        "running": "done",
        "measured": "done",
        "accepted": "skipped",
        "declined": "stopped",
    }


def test_it_shows_a_hold_between_measured_and_accepted(db):
    owner = submission(State.HELD)
    assert list(steps(owner).items())[-3:] == [
        ("held", "current"),
        ("accepted", "waiting"),
        ("published", "waiting"),
    ]
    assert submission_view(owner.pk).why_not_ranked_code == "rank:held"


def test_it_ends_a_check_with_checked_and_says_that_its_mode_is_not_ranked(db):
    owner = submission(State.CHECKED, mode="check", finished_at=RECEIVED)
    assert list(steps(owner).items())[-1] == ("checked", "done")
    assert "accepted" not in steps(owner)
    assert submission_view(owner.pk).why_not_ranked_code == "rank:mode"


def test_it_tells_the_place_in_the_queue_and_when_its_turn_comes(db):
    for at in range(4):
        begun = RECEIVED + timedelta(seconds=10 * at)
        run(None, RunState.FINISHED, started_at=begun, finished_at=begun + timedelta(seconds=6))
    run(None, RunState.LEASED, runner_name="cpu0")
    run(None, queued_at=RECEIVED - timedelta(seconds=5))
    run(None, priority=5, queued_at=RECEIVED + timedelta(seconds=5))
    run(None, arch="sm_90", queued_at=RECEIVED - timedelta(seconds=5))
    owner = submission(State.QUEUED)
    run(owner)
    run(None, queued_at=RECEIVED + timedelta(seconds=1))
    place = submission_view(owner.pk).queue
    assert (place.position, place.waiting, place.running) == (3, 4, 1)
    assert place.eta_seconds == 15.0


def test_it_estimates_nothing_where_nothing_has_finished(db, django_assert_num_queries):
    waiting = run()
    with django_assert_num_queries(4):
        place = queue_place(waiting)
    assert (place.position, place.eta_seconds) == (1, None)


def test_it_asks_at_most_ten_queries(board, django_assert_max_num_queries):
    owner = submission(State.QUEUED)
    for number in range(1, 6):
        run(owner, number=number)
    with django_assert_max_num_queries(10):
        submission_view(owner.pk)


def published(board, half: float = 0.001) -> Submission:
    uuid = uuid4()
    board.measured(FAST, 1.5, half, submission=str(uuid))
    decision = {
        "outcome": "accepted",
        "speedup": {"value": 1.5, "lo": 1.4, "hi": 1.6},
        "versus_incumbent": None,
    }
    measured = run_document(uuid4(), FAST, uuid, verdict="ok", code="run:ok", stage="report")
    record = submission_document(
        uuid, FAST, "accepted", code="decision:new-kernel", reason="new", runs=[measured["uuid"]]
    )
    records = {"submission.json": record, "run-1.json": measured, "decision.json": decision}
    board.writer.record(ledger_entry(uuid, records))
    mirror.bring_to_head()
    return Submission.objects.get(pk=uuid)


def test_it_shows_a_published_one_with_rank_speedup_and_all_steps_done(board):
    owner = published(board)
    view = submission_view(owner.pk)
    assert {step.status for step in view.steps} == {"done"}
    assert (view.rank, view.why_not_ranked) == (1, "")
    assert status_document(owner.pk)["rank"] == 1
    assert view.speedup.value == 1.5
    assert view.versus_incumbent is None
    running = next(step for step in view.steps if step.name == "running")
    assert running.seconds == pytest.approx(0.791)
    (shown,) = view.runs
    assert shown.verdict == "ok"
    assert {stage.name: stage.ms for stage in shown.stages}["build"] == 700
    assert shown.queued_at is None
    assert (shown.finished_at - shown.started_at).total_seconds() == pytest.approx(0.791)


def test_it_shows_the_same_after_the_rows_are_lost_and_restored(board):
    owner = published(board)
    Event.objects.create(
        submission=owner, topic="t", kind="state", text="validated", at=RECEIVED + timedelta(seconds=1)
    )
    Run.objects.update(queued_at=RECEIVED + timedelta(seconds=2), started_at=RECEIVED + timedelta(seconds=3))
    before = submission_view(owner.pk)
    Submission.objects.all().delete()
    mirror.rebuild()
    after = submission_view(owner.pk)
    assert after.steps == before.steps
    assert after.runs == before.runs


def test_it_says_that_a_later_version_stands(board):
    owner = published(board)
    board.bench(FAST, 2.0)
    mirror.bring_to_head()
    assert submission_view(owner.pk).why_not_ranked_code == "rank:superseded"


def test_it_says_why_a_published_one_lost_its_rank(board):
    owner = published(board)
    board.problem(version=2)
    mirror.bring_to_head()
    assert submission_view(owner.pk).why_not_ranked_code == "rank:problem-version"
