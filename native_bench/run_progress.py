"""What is known of a run so far: its result is made of it, however the run ends."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from native_bench.bench import Reporter
from native_bench.cpu.case_times import CaseTimes
from native_bench.job import Job
from native_bench.outcome import infra
from native_bench.roofline import Roofline, nearness
from native_bench.sandbox.interface import Sandbox, SandboxMissing
from native_bench.sandbox.opening import open_sandbox
from native_bench.surroundings import Surroundings
from submissions.evaluation.statistics import time_interval
from submissions.evaluation.verdicts import Evidence
from submissions.kernel_package.problem import Problem

CACHE_BYTES = 2 << 30
# A daemon gives a run ten minutes; the stages end before it does, and say who was slow.
CHECK_SECONDS = 120


@dataclass
class Progress:
    """Filled stage by stage."""

    reporter: Reporter
    evidence: Evidence
    stage_name: str = "prepare"
    stages_ms: dict[str, float] = field(default_factory=dict)
    isolation: str = ""
    flags: tuple[str, ...] = ()
    log: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    times: list[CaseTimes] = field(default_factory=list)
    surroundings: Surroundings | None = None
    roofline: Roofline | None = None
    nearness: dict[str, dict[str, Any]] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Enter a stage, and note how long it took."""
        self.stage_name = name
        self.reporter.stage(name)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.stages_ms[name] = round(1000 * (time.monotonic() - begin), 1)

    def set_against(self, problem: Problem, roofline: Roofline) -> None:
        """Say of each timed case how near the limit it comes."""
        self.roofline = roofline
        for times in self.times:
            time_ns = time_interval(times.least_ns["candidate"]).value
            self.nearness[times.case.id] = nearness(problem, times.case, times.batch, time_ns, roofline.limits)

    @property
    def is_below_floor(self) -> bool:
        return any(near["sol_floor"] == "violated" for near in self.nearness.values())


def sandbox_for(job: Job, progress: Progress) -> Sandbox:
    """Open the job's sandbox and note what it isolates; raises RunEnded `prepare:no-sandbox`."""
    try:
        sandbox = open_sandbox(job.backend, job.slot)
    except SandboxMissing as missing:
        raise infra("prepare:no-sandbox", str(missing)) from None
    progress.isolation = sandbox.isolation
    return sandbox
