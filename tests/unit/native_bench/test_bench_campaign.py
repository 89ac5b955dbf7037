"""The order of a campaign, and what it does when a set of processes, or another tool, gives no figure."""

import io
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, Self, cast

import pytest

from native_bench.bench_cpu.campaign import run_campaign, units_of
from native_bench.bench_cpu.kernels import Subject
from native_bench.bench_cpu.peers import GOOGLE, Peer
from native_bench.bench_cpu.plan import IDLE, STRESSED, Plan
from native_bench.bench_cpu.progress import Progress
from native_bench.bench_cpu.trials import Tools, Trial
from native_bench.outcome import RunEnded
from submissions.evaluation.verdicts import Verdict

Outcome = Trial | RunEnded
FINE = Trial(0.0, 0.01, 700.0, 707.0, 0.1)
LATE = RunEnded(Verdict.TIMED_OUT, "time:timed-out", "a batch took more than 10 s")


class ReadyTrials:
    """A kernel that needs no preparing; its sets of processes end as the test says."""

    outcomes: Iterator[Outcome] = cycle([FINE])
    closed = 0

    def __init__(self, subject: Subject, tools: Tools) -> None:
        self.subject = subject
        self.library = Path("/nowhere/kernel.so")

    def prepare(self, tell: Callable[[str], None]) -> int:
        return 7

    def one(self) -> Trial:
        outcome = next(self.outcomes)
        if isinstance(outcome, RunEnded):
            raise outcome
        return outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        ReadyTrials.closed += 1


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_bench.bench_cpu.campaign.Trials", ReadyTrials)
    monkeypatch.setattr("native_bench.bench_cpu.campaign.busy_share", lambda: 0.0)
    monkeypatch.setattr(ReadyTrials, "closed", 0)


def measure(plan: Plan, peers: tuple[Peer, ...] = ()) -> list[Any]:
    progress = Progress(units_of(plan, peers), io.StringIO())
    return cast("list[Any]", run_campaign(plan, cast("Tools", None), peers, progress))


def outcomes(monkeypatch: pytest.MonkeyPatch, *ends: Outcome) -> None:
    monkeypatch.setattr(ReadyTrials, "outcomes", cycle(ends))


def peer(program: str) -> Peer:
    return Peer(GOOGLE, ("time",), Path(program), (), lambda _: {"time": {"saxpy": 500.0}}, 1.0)


def test_it_measures_every_kernel_under_every_load() -> None:
    found = measure(Plan(3, 0, (IDLE, STRESSED[0]), (5,)))
    assert [under.condition for under in found] == [IDLE, STRESSED[0]]
    for under in found:
        assert {kernel: len(series.trials) for kernel, series in under.ours.items()} == {
            "saxpy": 3, "matmul": 3, "softmax": 3,
        }  # fmt: skip
    assert ReadyTrials.closed == 3


def test_it_stops_when_its_time_is_over() -> None:
    found = measure(Plan(50, 0, (IDLE,), (5,), seconds=0.0))
    assert all(len(series.trials) == 1 for series in found[0].ours.values())


def test_it_counts_sets_that_give_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes(monkeypatch, FINE, LATE)
    series = measure(Plan(20, 0, (IDLE,), (5,), kernels=("saxpy",)))[0].ours["saxpy"]
    assert (len(series.trials), dict(series.failures)) == (10, {"time:timed-out": 10})


def test_it_gives_up_when_most_give_none(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes(monkeypatch, LATE)
    with pytest.raises(RunEnded, match="a batch took more"):
        measure(Plan(20, 0, (IDLE,), (5,), kernels=("saxpy",)))
    assert ReadyTrials.closed == 1


def test_it_runs_the_other_tools_in_between() -> None:
    series = measure(Plan(6, 2, (IDLE,), (5,), kernels=("saxpy",)), (peer("/bin/true"),))[0].peers[GOOGLE]
    assert series.times_ns == {"time": {"saxpy": [500.0, 500.0]}}
    assert len(series.seconds) == 2


def test_a_tool_that_fails_does_not_stop_it() -> None:
    under = measure(Plan(6, 2, (IDLE,), (5,), kernels=("saxpy",)), (peer("/bin/false"),))[0]
    assert len(under.ours["saxpy"].trials) == 6
    assert dict(under.peers[GOOGLE].failures) == {"the program of google-benchmark failed: it said nothing": 2}
