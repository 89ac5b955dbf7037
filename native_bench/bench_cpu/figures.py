"""The figures of the table: one row per load, kernel and way to measure. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from typing import Any

from native_bench.bench_cpu.analysis import (
    Agreement,
    Power,
    agreement,
    covered_groups,
    pair_errors,
    power,
    quantile,
    sitting_times,
    variation,
)
from native_bench.bench_cpu.calibration import injected_share
from native_bench.bench_cpu.campaign import Measured, PeerSeries, Series
from native_bench.bench_cpu.plan import Condition

OURS = "ours"


@dataclass(frozen=True)
class Row:
    """What one way to measure made of one kernel under one load; shares are fractions, None what can't be said.

    `runs` is how many results stand behind `time_ns` and its `spread`: sittings of ours, runs of another tool.
    A comparison of equals is a sitting of ours, or two runs of another tool, one after the other.
    """

    condition: Condition
    kernel: str
    way: str
    processes: int | None
    runs: int
    time_ns: float | None
    spread: float | None
    error_p50: float | None
    error_p99: float | None
    agreement: Agreement | None = None
    covered: tuple[int, int] = (0, 0)
    power: Power | None = None
    injected: float | None = None
    wall_seconds: float | None = None
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.processes is not None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "condition": self.condition.name}


def rows_of(measured: Sequence[Measured], sittings: Sequence[int]) -> list[Row]:
    """Return the rows of all loads: for each kernel ours by the size of a sitting, then the other tools'."""
    return [row for under in measured for row in _rows_under(under, sittings)]


def _rows_under(measured: Measured, sittings: Sequence[int]) -> Iterator[Row]:
    for kernel, series in measured.ours.items():
        for processes in sittings:
            yield own_row(measured.condition, kernel, series, processes)
        for peer in measured.peers.values():
            yield from peer_rows(measured.condition, kernel, peer, len(measured.ours))


def own_row(condition: Condition, kernel: str, series: Series, processes: int) -> Row:
    """Return the row of our sittings of so many processes each."""
    trials = series.trials
    equal = [trial.equal for trial in trials]
    times = sitting_times([trial.time_ns for trial in trials], processes)
    found = agreement(equal, processes)
    return Row(
        condition=condition,
        kernel=kernel,
        way=f"{OURS}, {processes} processes",
        processes=processes,
        runs=len(times),
        time_ns=median(times) if times else None,
        spread=variation(times),
        error_p50=found.p50 if found else None,
        error_p99=found.p99 if found else None,
        agreement=found,
        covered=covered_groups(equal, processes),
        power=power([trial.slowed for trial in trials], processes),
        injected=_injected(series),
        wall_seconds=processes * fmean(trial.seconds for trial in trials) if times else None,
        failures=dict(series.failures),
    )


def peer_rows(condition: Condition, kernel: str, series: PeerSeries, kernels: int) -> Iterator[Row]:
    """Yield a row for each figure that a tool reports; a run times all `kernels`, each has its part."""
    for figure, by_kernel in series.times_ns.items():
        times = by_kernel.get(kernel, [])
        errors = pair_errors(times)
        yield Row(
            condition=condition,
            kernel=kernel,
            way=figure,
            processes=None,
            runs=len(times),
            time_ns=median(times) if times else None,
            spread=variation(times),
            error_p50=quantile(errors, 0.5) if errors else None,
            error_p99=quantile(errors, 0.99) if errors else None,
            wall_seconds=fmean(series.seconds) / kernels if series.seconds else None,
        )


def _injected(series: Series) -> float | None:
    plain = [trial.time_ns for trial in series.trials]
    return injected_share(plain, [trial.slowed_time_ns for trial in series.trials]) if plain else None
