import pytest

from submissions import live
from submissions.lifecycle import advance_state, enter_recorded, mark_ending, note, submission_started
from submissions.models import Event, State
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("site")


@pytest.fixture
def heard(monkeypatch):
    topics = []
    monkeypatch.setattr("submissions.lifecycle.announce", topics.append)
    return topics


def test_it_moves_only_from_the_state_it_saw(heard):
    submission = zoo.send()
    heard.clear()
    assert advance_state(submission.pk, State.RECEIVED, State.VALIDATED, tree_digest="a" * 64)
    assert not advance_state(submission.pk, State.RECEIVED, State.VALIDATED)
    assert zoo.fresh(submission).tree_digest == "a" * 64
    assert heard == [f"submission.{submission.pk}", "queue"]
    assert list(submission.events.values_list("text", flat=True)) == ["received", "validated"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (State.RECEIVED, State.ACCEPTED),
        (State.PUBLISHED, State.QUEUED),
        (State.QUEUED, State.MEASURED),
        (State.RECEIVED, State.REJECTED),
    ],
)
def test_it_refuses_steps_that_the_walk_does_not_have(old, new):
    with pytest.raises(ValueError, match="does not go"):
        advance_state(zoo.send().pk, old, new)


@pytest.mark.parametrize("ending", [State.PUBLISHED, State.RUNNING])
def test_it_marks_only_terminal_endings(ending):
    with pytest.raises(ValueError, match="not entered this way"):
        mark_ending(zoo.send().pk, State.RECEIVED, ending)


def test_it_fences_a_submission_whose_end_is_decided():
    submission = zoo.send()
    assert mark_ending(submission.pk, State.RECEIVED, State.REJECTED, code="package:bomb")
    assert not advance_state(submission.pk, State.RECEIVED, State.VALIDATED)
    assert not mark_ending(submission.pk, State.RECEIVED, State.CANCELLED)
    assert zoo.fresh(submission).state == State.RECEIVED
    assert enter_recorded(submission.pk, State.REJECTED)
    assert not enter_recorded(submission.pk, State.FAILED)
    assert zoo.fresh(submission).state == State.REJECTED


def test_it_starts_a_run_without_a_submission_always():
    assert submission_started(None)


def test_it_does_not_start_what_was_cancelled():
    submission = zoo.send()
    mark_ending(submission.pk, State.RECEIVED, State.CANCELLED)
    assert not submission_started(submission.pk)


def test_it_notes_stages_for_readers(heard):
    submission = zoo.send()
    heard.clear()
    note(submission.pk, "stage", "build")
    note(None, "stage", "build")
    assert heard == [f"submission.{submission.pk}"]
    assert Event.objects.filter(kind="stage").count() == 1


def test_it_never_fails_because_nobody_can_be_told(monkeypatch, caplog):
    class Gone:
        async def group_send(self, topic, message):
            raise ConnectionError("no layer")

    monkeypatch.setattr(live, "get_channel_layer", Gone)
    live.announce("queue")
    assert "could not announce queue" in caplog.text


def test_it_tells_the_layer_which_topic_changed(monkeypatch):
    told = []

    class Layer:
        async def group_send(self, topic, message):
            told.append((topic, message))

    monkeypatch.setattr(live, "get_channel_layer", Layer)
    live.announce("queue")
    assert told == [("queue", {"type": "changed", "topic": "queue"})]
