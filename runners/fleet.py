"""The fleet as rows for the runners page and API: who is alive, what each one does, how well it does."""

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch
from django.utils import timezone

from runners.models import Lease, Runner, RunnerState
from submissions.evaluation.verdicts import Verdict
from submissions.models import Run, RunState

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class RunnerRow:
    """One runner with its present run and its last day."""

    id: int
    name: str
    kind: str
    archs: tuple[str, ...]
    state: str
    state_reason: str
    is_alive: bool
    device: str
    isolation: str
    version: str
    hardware: Mapping[str, Any]
    registered_at: datetime.datetime
    last_seen_at: datetime.datetime
    infra_failures: int
    run: Run | None
    runs_last_day: int
    infra_last_day: int

    @property
    def is_busy(self) -> bool:
        return self.run is not None

    @property
    def condition(self) -> str:
        """One word for the page: the operator's where there is one, else what the runner does."""
        if self.state != RunnerState.ACTIVE:
            return self.state
        if not self.is_alive:
            return "away"
        return "busy" if self.is_busy else "idle"


def runner_rows() -> list[RunnerRow]:
    """Return every runner that is not retired, by name; three queries."""
    runners = Runner.objects.not_retired().prefetch_related(_live_leases())
    counts = _counts_last_day()
    return [_row(runner, counts) for runner in runners]


def runner_row(name: str) -> RunnerRow | None:
    """Return one runner, retired ones included, or None."""
    runner = Runner.objects.filter(name=name).prefetch_related(_live_leases()).first()
    return _row(runner, _counts_last_day()) if runner else None


def runs_of(name: str, limit: int = 50) -> list[Run]:
    """Return the runner's last finished runs, newest first."""
    runs = Run.objects.filter(runner_name=name, state=RunState.FINISHED).defer("record", "log")
    return list(runs.select_related("submission").order_by("-finished_at")[:limit])


def alive_archs() -> set[str]:
    """Return the archs that some active runner can measure now."""
    archs: set[str] = set()
    for runner in Runner.objects.active().alive():
        archs.update(runner.archs)
    return archs


def _live_leases() -> "Prefetch[Any]":
    leases = Lease.objects.live().select_related("run__submission").defer("run__record", "run__log")
    return Prefetch("leases", queryset=leases, to_attr="live_leases")


def _counts_last_day() -> tuple[Counter[str], Counter[str]]:
    finished = Run.objects.filter(finished_at__gte=timezone.now() - _DAY, state=RunState.FINISHED)
    pairs = list(finished.values_list("runner_name", "verdict"))
    runs = Counter(name for name, _ in pairs)
    infra = Counter(name for name, verdict in pairs if verdict and Verdict(verdict).is_infra)
    return runs, infra


def _row(runner: Runner, counts: tuple[Counter[str], Counter[str]]) -> RunnerRow:
    live: list[Lease] = getattr(runner, "live_leases", [])
    return RunnerRow(
        id=runner.pk,
        name=runner.name,
        kind=runner.kind,
        archs=tuple(runner.archs),
        state=runner.state,
        state_reason=runner.state_reason,
        is_alive=runner.is_alive,
        device=runner.device,
        isolation=runner.isolation,
        version=runner.version,
        hardware=runner.hardware,
        registered_at=runner.registered_at,
        last_seen_at=runner.last_seen_at,
        infra_failures=runner.infra_failures,
        run=live[0].run if live else None,
        runs_last_day=counts[0][runner.name],
        infra_last_day=counts[1][runner.name],
    )
