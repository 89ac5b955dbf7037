"""The campaign: under each load, sets of processes of every kernel in turn, and the other tools in between."""

import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from native_bench.bench_cpu.kernels import subject
from native_bench.bench_cpu.peers import Peer, PeerFailed, PeerRun
from native_bench.bench_cpu.plan import Condition, Plan, as_told, peer_is_due
from native_bench.bench_cpu.progress import Progress
from native_bench.bench_cpu.stress import busy_loops
from native_bench.bench_cpu.trials import Tools, Trial, Trials
from native_bench.outcome import RunEnded
from native_bench.surroundings import CpuTimes

# About what a set takes on a quiet machine, and how much longer per busy loop and core.
_TRIAL_UNITS, _UNITS_PER_LOOP = 0.5, 0.3
_FAILURES = 5
_LOOK_SECONDS = 1.0


@dataclass
class Series:
    """What the sets of processes of one kernel gave under one load, and why some gave nothing."""

    trials: list[Trial] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)


@dataclass
class PeerSeries:
    """What the runs of one tool reported under one load: by figure, then by kernel, in ns; and why some failed."""

    times_ns: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, run: PeerRun) -> None:
        self.seconds.append(run.seconds)
        for figure, by_kernel in run.times_ns.items():
            for kernel, taken_ns in by_kernel.items():
                self.times_ns.setdefault(figure, {}).setdefault(kernel, []).append(taken_ns)


@dataclass
class Measured:
    """Everything measured under one load; `busy_before` is the busy share of all cores before it began."""

    condition: Condition
    busy_before: float
    ours: dict[str, Series]
    peers: dict[str, PeerSeries]
    seconds: float = 0.0


def run_campaign(plan: Plan, tools: Tools, peers: Sequence[Peer], progress: Progress) -> list[Measured]:
    """Measure all that the plan says; raises RunEnded when the engine fails again and again."""
    with ExitStack() as stack:
        courses: list[Trials] = []
        for name in plan.kernels:
            courses.append(stack.enter_context(Trials(subject(name), tools)))
            steps = courses[-1].prepare(progress.say)
            progress.say(f"{name}: {steps} multiplications make it 1 % slower")
        progress.start()
        return [_Round(plan, condition, courses, peers, progress).measure() for condition in plan.conditions]


def units_of(plan: Plan, peers: Sequence[Peer]) -> float:
    """Return the work that a plan means, in the units of Progress."""
    kernels = len(plan.kernels)
    ours = sum(map(_trial_units, plan.conditions))
    theirs = sum(_peer_units(peer, condition, kernels) for peer in peers for condition in plan.conditions)
    return plan.processes * kernels * ours + plan.peer_runs * theirs


def busy_share() -> float:
    """Return how busy all cores are, from 0 to 1, looked at for a second."""
    before = CpuTimes.of(range(os.cpu_count() or 1))
    time.sleep(_LOOK_SECONDS)
    after = CpuTimes.of(range(os.cpu_count() or 1))
    taken = after.busy + after.stolen - before.busy - before.stolen
    return taken / max(1, after.total - before.total)


class _Round:
    """The measuring under one load."""

    def __init__(
        self,
        plan: Plan,
        condition: Condition,
        courses: Sequence[Trials],
        peers: Sequence[Peer],
        progress: Progress,
    ) -> None:
        self._plan = plan
        self._courses = courses
        self._peers = peers
        self._progress = progress
        busy = busy_share()
        self._measured = Measured(
            as_told(condition, busy),
            busy,
            {course.subject.name: Series() for course in courses},
            {peer.tool: PeerSeries() for peer in peers},
        )

    def measure(self) -> Measured:
        plan, measured = self._plan, self._measured
        loops = measured.condition.loops_per_core * (os.cpu_count() or 1)
        self._progress.say(f"{measured.condition.name}: {loops} busy loops")
        begin = time.monotonic()
        with busy_loops(loops):
            for number in range(plan.processes):
                self._take_turns(number)
                measured.seconds = time.monotonic() - begin
                if plan.seconds is not None and measured.seconds > plan.seconds:
                    break
        return measured

    def _take_turns(self, number: int) -> None:
        for course in self._courses:
            self._try(course)
            where = f"{self._measured.condition.name}: {number + 1} of {self._plan.processes} sets"
            self._progress.add(_trial_units(self._measured.condition), where)
        if peer_is_due(number, self._plan):
            for peer in self._peers:
                self._run_peer(peer)

    def _try(self, course: Trials) -> None:
        """Time one set of processes; one without a figure is counted, and when most have none the bench ends."""
        series = self._measured.ours[course.subject.name]
        try:
            series.trials.append(course.one())
        except RunEnded as end:
            series.failures[end.code] += 1
            if series.failures.total() > max(_FAILURES, len(series.trials)):
                raise

    def _run_peer(self, peer: Peer) -> None:
        measured, series = self._measured, self._measured.peers[peer.tool]
        try:
            series.add(peer.run([(course.subject, course.library) for course in self._courses]))
        except PeerFailed as why:
            series.failures[str(why)] += 1
        units = _peer_units(peer, measured.condition, len(self._courses))
        self._progress.add(units, f"{measured.condition.name}: {peer.tool}")


def _trial_units(condition: Condition) -> float:
    return _TRIAL_UNITS + _UNITS_PER_LOOP * condition.loops_per_core


def _peer_units(peer: Peer, condition: Condition, kernels: int) -> float:
    # It has no better claim to the processor than a busy loop has.
    return peer.seconds_per_kernel * kernels * (1 + condition.loops_per_core)
