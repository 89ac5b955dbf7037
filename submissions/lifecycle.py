"""Move a submission from state to state by compare-and-swap; the only code that writes `Submission.state`.

A terminal state is entered in two steps: `mark_ending` writes down which one and why, and `enter_recorded`
takes it once the ledger has the record. Between the two nothing else can move the submission.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from submissions.live import QUEUE, announce
from submissions.models import TERMINAL_STATES, Event, State, Submission

_STEPS: Mapping[State, frozenset[State]] = {
    State.RECEIVED: frozenset({State.VALIDATED}),
    State.VALIDATED: frozenset({State.QUEUED}),
    State.QUEUED: frozenset({State.RUNNING}),
    State.RUNNING: frozenset({State.QUEUED, State.MEASURED, State.HELD}),
    State.MEASURED: frozenset({State.QUEUED}),
    State.HELD: frozenset({State.QUEUED, State.MEASURED}),
    State.ACCEPTED: frozenset({State.PUBLISHED}),
}
_IN_LEDGER = TERMINAL_STATES | {State.ACCEPTED}


def advance_state(submission_id: UUID, old: State, new: State, **changes: Any) -> bool:
    """Move a submission from `old` to `new`; False where it is no longer in `old` or its end is decided.

    Raises ValueError on a step that the walk does not have.
    """
    if new not in _STEPS.get(old, frozenset()):
        raise ValueError(f"a submission does not go from {old} to {new}")
    return _swap(submission_id, {"state": old, "ending": ""}, {"state": new, **changes}, text=new)


def mark_ending(submission_id: UUID, old: State | Iterable[State], ending: State, **changes: Any) -> bool:
    """Decide how an open submission ends; False where it already moved on. `enter_recorded` completes it."""
    if ending not in TERMINAL_STATES or ending == State.PUBLISHED:
        raise ValueError(f"{ending} is not entered this way")
    olds = [old] if isinstance(old, State) else list(old)
    changes = {"ending": ending, "finished_at": timezone.now(), **changes}
    return _swap(submission_id, {"state__in": olds, "ending": ""}, changes, text=f"ends {ending}")


def enter_recorded(submission_id: UUID, state: State, **changes: Any) -> bool:
    """Take the end, or the acceptance, that the ledger has of an open submission; whatever the row said of it."""
    seen = {"state__in": [open_state for open_state in State if open_state not in _IN_LEDGER]}
    return _swap(submission_id, seen, {"state": state, "ending": "", **changes}, text=state)


def submission_started(submission_id: UUID | None) -> bool:
    """Say that a runner took the submission's run; False where it was cancelled meanwhile: give the run back."""
    return submission_id is None or advance_state(submission_id, State.QUEUED, State.RUNNING)


def note(submission_id: UUID | None, kind: str, text: str) -> None:
    """Write an Event that is no change of state (a stage, a line of log) and wake its readers."""
    if submission_id is not None:
        topic = topic_of(submission_id)
        Event.objects.create(submission_id=submission_id, topic=topic, kind=kind, text=text, at=timezone.now())
        transaction.on_commit(partial(announce, topic))


def topic_of(submission_id: UUID) -> str:
    """Return the topic on which a submission's changes are announced."""
    return f"submission.{submission_id}"


def _swap(submission_id: UUID, seen: Mapping[str, Any], changes: Mapping[str, Any], text: str) -> bool:
    with transaction.atomic():
        if Submission.objects.filter(pk=submission_id, **seen).update(**changes) != 1:
            return False
        note(submission_id, "state", str(text))
        transaction.on_commit(partial(announce, QUEUE))
    return True
