"""A run as its card shows it: each stage done, on, failed, or still ahead."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.run_detail import RunView
from submissions.evaluation.verdicts import STAGES, Verdict
from submissions.models import RunState


@dataclass(frozen=True)
class StageMark:
    """One stage; status is done, now, failed or ahead; `ms` is how long it took, once known."""

    name: str
    status: str
    ms: float | None


@dataclass(frozen=True)
class RunCard:
    """A run and the marks of its stages."""

    run: RunView
    stages: tuple[StageMark, ...]


def run_cards(runs: Sequence[RunView]) -> tuple[RunCard, ...]:
    """Return the newest run first."""
    return tuple(RunCard(run, _marks(run)) for run in reversed(runs))


def _marks(run: RunView) -> tuple[StageMark, ...]:
    stopped_at = str((run.record or {}).get("stage", "")) if run.verdict not in ("", Verdict.OK) else ""
    running_at = run.stage if run.state == RunState.LEASED else ""
    at = STAGES.index(stopped_at or running_at) if (stopped_at or running_at) in STAGES else -1
    return tuple(
        StageMark(stage.name, _status(place, at, stage.ms, bool(stopped_at)), stage.ms)
        for place, stage in enumerate(run.stages)
    )


def _status(place: int, at: int, ms: float | None, has_stopped: bool) -> str:
    if place == at:
        return "failed" if has_stopped else "now"
    return "done" if place < at or (ms is not None and not has_stopped) else "ahead"
