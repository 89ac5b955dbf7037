"""What keeps queued runs from being run: nobody who can take them, or too much before them. One sentence each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from runners.models import Runner, RunnerState
from submissions.models import RunState

SLOW_AFTER = timedelta(minutes=15)

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class QueuePart:
    """The runs of one kind for one arch in one state: how many, and since when the oldest is in the queue."""

    arch: str
    kind: str
    state: str
    runs: int
    oldest: datetime


def queue_problems(parts: Sequence[QueuePart], runners: Sequence[Runner]) -> list[str]:
    """Return a sentence for what no runner can take, and one for each arch whose runs wait too long."""
    moving: list[QueuePart] = []
    stuck: Counter[tuple[str, str]] = Counter()
    for part in parts:
        if part.state != RunState.QUEUED:
            continue
        fitting = [runner for runner in runners if runner.capabilities.accepts(part.kind, part.arch)]
        if any(runner.state == RunnerState.ACTIVE and runner.is_alive for runner in fitting):
            moving.append(part)
        else:
            stuck[part.arch, _why_stuck(fitting)] += part.runs
    return [_stuck(arch, why, runs) for (arch, why), runs in stuck.items()] + _slow(moving)


def _why_stuck(fitting: Sequence[Runner]) -> str:
    return ", ".join(_why_not(runner) for runner in fitting) or "none has registered"


def _why_not(runner: Runner) -> str:
    if runner.state != RunnerState.ACTIVE:
        reason = f" ({runner.state_reason})" if runner.state_reason else ""
        return f"{runner.name} is {runner.state}{reason}"
    return f"{runner.name} is not alive (last seen {_minutes_since(runner.last_seen_at)} min ago)"


def _stuck(arch: str, why: str, runs: int) -> str:
    if runs == 1:
        return f"1 run for {arch} waits and no runner can take it: {why}"
    return f"{runs} runs for {arch} wait and no runner can take them: {why}"


def _slow(moving: Sequence[QueuePart]) -> list[str]:
    sentences = []
    for arch in sorted({part.arch for part in moving}):
        parts = [part for part in moving if part.arch == arch]
        runs, oldest = sum(part.runs for part in parts), min(part.oldest for part in parts)
        if timezone.now() - oldest > SLOW_AFTER:
            told = "1 run" if runs == 1 else f"{runs} runs"
            verb = "waits" if runs == 1 else "wait, the oldest"
            sentences.append(f"{told} for {arch} {verb} for {_minutes_since(oldest)} min")
    return sentences


def _minutes_since(moment: datetime) -> int:
    return (timezone.now() - moment) // _MINUTE
