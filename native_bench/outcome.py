"""How a run ends early: a verdict with its code, a sentence, and what helps the entrant."""

from typing import Any

from submissions.evaluation.verdicts import Verdict


class RunEnded(Exception):
    """The run is over with this verdict; raised by any stage, handled once by `run.py`."""

    def __init__(self, verdict: Verdict, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.code = code
        self.message = message
        self.details = details


def infra(code: str, message: str, **details: Any) -> RunEnded:
    """Return the end of a run that is our fault, not the entrant's."""
    return RunEnded(Verdict.INFRA_ERROR, code, message, **details)
