"""The first words of a submission's page: how it stands, in a tone and one line. Words only, no rules."""

from dataclasses import dataclass

from submissions.evaluation.verdicts import Verdict
from submissions.models import State

GOOD, BAD, WARN, LIVE = "good", "bad", "warn", "live"

_BY_STATE = {
    State.RECEIVED: (LIVE, "Received; the package is being checked"),
    State.VALIDATED: (LIVE, "The package is sound; a run is being scheduled"),
    State.QUEUED: (LIVE, "Waiting for a runner"),
    State.RUNNING: (LIVE, "Running"),
    State.MEASURED: (LIVE, "Measured; being decided"),
    State.HELD: (WARN, "Held: a person has to look at it"),
    State.ACCEPTED: (LIVE, "Accepted; on its way to the board"),
    State.PUBLISHED: (GOOD, "On the board"),
    State.CHECKED: (GOOD, "Correct"),
    State.REJECTED: (BAD, "The package was rejected"),
    State.FAILED: (BAD, "The run failed"),
    State.DECLINED: (WARN, "Correct, but not better than what stands"),
    State.CANCELLED: (WARN, "Cancelled"),
    State.ERRORED: (WARN, "We failed, not your kernel"),
}

_BY_VERDICT = {
    Verdict.BUILD_FAILED: "It did not compile",
    Verdict.INSPECT_REFUSED: "What it compiled to was refused",
    Verdict.WRONG_RESULT: "Its result is wrong",
    Verdict.NONDETERMINISTIC: "Its result changes from call to call",
    Verdict.CRASHED: "It crashed",
    Verdict.TIMED_OUT: "It took too long",
    Verdict.OUT_OF_MEMORY: "It ran out of memory",
    Verdict.CHEAT_SUSPECTED: "The measurement was tampered with",
    Verdict.UNSTABLE: "The machine was too unquiet to tell",
    Verdict.THROTTLED: "The machine was throttled",
    Verdict.RUNNER_LOST: "The runner was lost",
    Verdict.INFRA_ERROR: "The runner failed",
}

# badge tone of a state in lists; the word itself is always shown beside it.
TONES = {state: tone for state, (tone, _) in _BY_STATE.items()}


# Of a good run the details are notes of the engine, of no use to its entrant.
_NEEDS_HELP = frozenset({State.REJECTED, State.FAILED, State.ERRORED, State.HELD})

# Elsewhere the headline and the reason say it already, or the walk is simply not over.
_ASKS_WHY = frozenset({State.PUBLISHED, State.CHECKED, State.HELD, State.DECLINED})


@dataclass(frozen=True)
class Headline:
    """A tone (good, bad, warn, live) and a line."""

    tone: str
    text: str


def needs_help(state: str) -> bool:
    """True where the run's details help the entrant to the next try."""
    return state in _NEEDS_HELP


def shows_why(state: str) -> bool:
    """True where "why am I not ranked" is a question the page has to answer by itself."""
    return state in _ASKS_WHY


def headline(state: str, verdict: str = "", stage: str = "") -> Headline:
    """Return the headline of a submission; `verdict` and `stage` are those of its last run."""
    tone, text = _BY_STATE.get(State(state), (WARN, state))
    if state == State.FAILED and verdict in _BY_VERDICT:
        text = _BY_VERDICT[Verdict(verdict)]
    if state == State.RUNNING and stage:
        text = f"Running: {stage}"
    return Headline(tone, text)
