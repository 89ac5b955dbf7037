"""What waits and what runs, as rows for the queue page and API; each row says why it waits."""

import datetime
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from django.db.models import F

from runners.capabilities import runner_kind
from runners.models import Runner, RunnerState
from submissions.kernel_package.errors import Rejected
from submissions.models import Run, RunQuerySet, RunState

_RECENT_RUNS = 200


@dataclass(frozen=True)
class QueueRow:
    """One run that is not over. `position` is 1 for the next to start, 0 for a running one.

    `estimate_seconds` is from now to the end for a waiting run, from its start for a running one; None without
    history.
    """

    run: uuid.UUID
    submission: uuid.UUID | None
    kernel_id: str
    arch: str
    kind: str
    runner_kind: str
    state: str
    position: int
    priority: int
    attempt: int
    submitter: str
    runner: str
    stage: str
    progress: float
    is_cancel_requested: bool
    queued_at: datetime.datetime
    started_at: datetime.datetime | None
    waits_for: str
    estimate_seconds: float | None

    @property
    def board_id(self) -> str:
        return self.kernel_id.rsplit("/", 1)[0]

    @property
    def is_running(self) -> bool:
        return self.state == RunState.LEASED


def queue_rows(kind: str | None = None, limit: int | None = 500) -> list[QueueRow]:
    """Return running rows, then waiting ones in turn, of one runner kind or of all; five queries at most."""
    runners = list(Runner.objects.not_retired())
    seconds = typical_seconds()
    rows = [_row(run, 0, runners, seconds) for run in _runs().leased().order_by("started_at")]
    rows += _waiting_rows(_runs().queued().in_turn()[:limit], runners, seconds)
    return [row for row in rows if kind is None or row.runner_kind == kind]


@dataclass(frozen=True)
class QueuePage:
    """Some of the rows, and the cursor that names the last of them; empty where there are no more."""

    rows: list[QueueRow]
    next_cursor: str


def queue_page(kind: str | None, cursor: str = "", size: int = 100) -> QueuePage:
    """Return the rows after the one the cursor names; raises Rejected `request:cursor` where it left the queue."""
    rows = queue_rows(kind, limit=None)
    if cursor:
        at = next((place for place, row in enumerate(rows) if str(row.run) == cursor), None)
        if at is None:
            raise Rejected(
                "request:cursor", "the run this cursor names is no longer queued: start from the first page"
            )
        rows = rows[at + 1 :]
    more = len(rows) > size
    return QueuePage(rows[:size], str(rows[size - 1].run) if more else "")


def queue_depths() -> dict[str, int]:
    """Return how many runs wait per arch."""
    depths: dict[str, int] = {}
    for arch in Run.objects.queued().values_list("arch", flat=True):
        depths[arch] = depths.get(arch, 0) + 1
    return dict(sorted(depths.items()))


def typical_seconds() -> Mapping[str, float]:
    """Return the median duration of recent runs per queue; a queue without history is absent."""
    finished = (
        Run.objects.filter(state=RunState.FINISHED, started_at__isnull=False, finished_at__isnull=False)
        .order_by("-finished_at")
        .annotate(took=F("finished_at") - F("started_at"))
        .values_list("kind", "arch", "took")[:_RECENT_RUNS]
    )
    durations: dict[str, list[float]] = {}
    for kind, arch, took in finished:
        durations.setdefault(runner_kind(kind, arch), []).append(took.total_seconds())
    return {queue: median(values) for queue, values in durations.items()}


def _runs() -> RunQuerySet:
    return Run.objects.select_related("submission").defer("record", "log")


def _waiting_rows(runs: Iterable[Run], runners: list[Runner], seconds: Mapping[str, float]) -> list[QueueRow]:
    ahead: dict[str, int] = {}
    rows = []
    for run in runs:
        queue = runner_kind(run.kind, run.arch)
        ahead[queue] = ahead.get(queue, 0) + 1
        rows.append(_row(run, ahead[queue], runners, seconds))
    return rows


def _row(run: Run, position: int, runners: list[Runner], seconds: Mapping[str, float]) -> QueueRow:
    queue = runner_kind(run.kind, run.arch)
    submission = run.submission
    return QueueRow(
        run=run.uuid,
        submission=run.submission_id,
        kernel_id=run.kernel_id,
        arch=run.arch,
        kind=run.kind,
        runner_kind=queue,
        state=run.state,
        position=position,
        priority=run.priority,
        attempt=run.attempt,
        submitter=submission.submitter if submission else "",
        runner=run.runner_name,
        stage=run.stage,
        progress=run.progress,
        is_cancel_requested=run.is_cancel_requested,
        queued_at=run.queued_at,
        started_at=run.started_at,
        waits_for=why_waiting(run, position, runners) if position else "",
        estimate_seconds=max(1, position) * seconds[queue] if queue in seconds else None,
    )


def why_waiting(run: Run, position: int, runners: list[Runner]) -> str:
    """Say in one clause what a queued run waits for."""
    fitting = [runner for runner in runners if runner.capabilities.accepts(run.kind, run.arch)]
    alive = [runner for runner in fitting if runner.is_alive]
    if not fitting:
        return f"no runner for {run.arch} has registered yet"
    if not alive:
        return f"every runner for {run.arch} is away"
    if not any(runner.state == RunnerState.ACTIVE for runner in alive):
        return f"every runner for {run.arch} is paused or quarantined"
    return "next in turn" if position == 1 else f"{position - 1} before it"
