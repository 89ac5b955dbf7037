"""The walk of one submission as steps for people: what is done, what is on, what is still to come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from leaderboard.run_detail import RunView
from submissions.models import Event, Mode, RunState, State, Submission

WALK = (State.RECEIVED, State.VALIDATED, State.QUEUED, State.RUNNING, State.MEASURED, State.ACCEPTED)

_UNHAPPY_ENDS = frozenset({State.REJECTED, State.FAILED, State.DECLINED, State.CANCELLED, State.ERRORED})


@dataclass(frozen=True)
class Step:
    """One step: status is done, current, waiting, skipped or stopped; `seconds` is how long it took, if known."""

    name: str
    status: str
    at: datetime | None
    seconds: float | None


def walk_steps(submission: Submission, runs: Sequence[RunView], events: Sequence[Event]) -> tuple[Step, ...]:
    """Return the steps in the order of the walk, the last one named after how it ends.

    Of an open submission the events tell when each state was entered; of a finished one only what
    its records keep is used.
    """
    entered = (
        _times_of_records(submission, runs) if submission.is_terminal else _times_of_events(submission, events)
    )
    names = _names(submission)
    reached = _reached(submission, runs, entered)
    return tuple(
        Step(
            name,
            _status(name, names, reached, submission),
            entered.get(name),
            _seconds(name, names, entered, runs),
        )
        for name in names
    )


def _names(submission: Submission) -> tuple[str, ...]:
    walk = tuple(state.value for state in (WALK if submission.mode == Mode.RANKED else WALK[:-1]))
    if submission.is_terminal:
        return (*walk, submission.state)
    if submission.state == State.HELD:
        walk = (*walk[:-1], State.HELD.value, walk[-1])
    return (*walk, State.PUBLISHED.value if submission.mode == Mode.RANKED else State.CHECKED.value)


def _times_of_events(submission: Submission, events: Sequence[Event]) -> Mapping[str, datetime]:
    times = {State.RECEIVED.value: submission.received_at}
    times.update({event.text: event.at for event in events})
    return times


def _times_of_records(submission: Submission, runs: Sequence[RunView]) -> Mapping[str, datetime]:
    times = {State.RECEIVED.value: submission.received_at}
    started = [run.started_at for run in runs if run.record and run.started_at]
    finished = [run.finished_at for run in runs if run.record and run.finished_at]
    if started:
        times[State.RUNNING.value] = min(started)
    if finished:
        times[State.MEASURED.value] = max(finished)
    if submission.finished_at:
        times[submission.state] = submission.finished_at
    return times


def _reached(submission: Submission, runs: Sequence[RunView], entered: Mapping[str, datetime]) -> int:
    """Return how many steps of the walk before its end were entered."""
    walk = [state.value for state in WALK]
    if submission.state in walk:
        return walk.index(submission.state)
    if submission.state in (State.PUBLISHED, State.CHECKED, State.HELD):
        return len(walk)
    if any(run.state == RunState.FINISHED and run.verdict == "ok" for run in runs):
        return walk.index(State.MEASURED)
    return max((walk.index(name) for name in entered if name in walk and name != State.MEASURED), default=0)


def _status(name: str, names: Sequence[str], reached: int, submission: Submission) -> str:
    if name == submission.state:
        if name in _UNHAPPY_ENDS:
            return "stopped"
        return "done" if submission.is_terminal else "current"
    is_before = names.index(name) < names.index(submission.state)
    if is_before and names.index(name) <= reached:
        return "done"
    return "skipped" if is_before else "waiting"


def _seconds(
    name: str, names: Sequence[str], entered: Mapping[str, datetime], runs: Sequence[RunView]
) -> float | None:
    if name == State.RUNNING and runs and all(run.record for run in runs):
        return sum(sum((run.record or {}).get("stages_ms", {}).values()) for run in runs) / 1000
    later = [entered[each] for each in names[names.index(name) + 1 :] if each in entered]
    if name not in entered or not later:
        return None
    return max(0.0, (min(later) - entered[name]) / timedelta(seconds=1))
