"""Trials of the real engine: sets of fresh processes in which a kernel meets its twin and its slowed self."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Self

from native_bench.bench import Bench, Deadline, seed_of
from native_bench.bench_cpu.calibration import Chained, chain_steps, trial_steps
from native_bench.bench_cpu.kernels import Subject
from native_bench.cache import ContentCache
from native_bench.cpu.build import build
from native_bench.cpu.case_times import HOT, CaseTimes
from native_bench.cpu.draws import Draw, Draws
from native_bench.cpu.inspect import require_clean
from native_bench.cpu.process_set import Contest, ProcessSet
from native_bench.cpu.sitting import pool_sets
from native_bench.cpu.trusted import TrustedPrograms, trusted_programs
from native_bench.host import core_pair
from native_bench.outcome import RunEnded
from native_bench.sandbox.interface import Sandbox
from native_bench.sandbox.opening import open_sandbox
from native_bench.surroundings import Surroundings
from submissions.evaluation.verdicts import Verdict

# A ranked run chooses the batch once for its five sets of processes.
_SETS_PER_BATCH = 5
_CALIBRATION_SETS = 5
_SET_SECONDS = 60.0

Libraries = Mapping[str, Path]


class Silent:
    """A reporter that tells nobody."""

    def stage(self, name: str) -> None: ...

    def progress(self, fraction: float) -> None: ...

    def log(self, text: str) -> None: ...


@dataclass(frozen=True)
class Tools:
    """What all trials share."""

    sandbox: Sandbox
    cache: ContentCache
    programs: TrustedPrograms
    timer_core: int
    worker_core: int


def open_tools(cache_dir: Path, backend: str = "bwrap") -> Tools:
    """Open the sandbox and build the engine's programs; raises SandboxMissing, and RunEnded with one core only."""
    cores = core_pair()
    if cores is None:
        raise RunEnded(Verdict.UNSTABLE, "time:needs-two-cores", "timing needs two usable cores")
    cache = ContentCache(cache_dir)
    return Tools(open_sandbox(backend), cache, trusted_programs(cache), *cores)


@dataclass(frozen=True)
class Trial:
    """One set of processes: ln(twin / kernel), ln(slowed / kernel), the least times, how long it took."""

    equal: float
    slowed: float
    time_ns: float
    slowed_time_ns: float
    seconds: float


class Trials:
    """One kernel, ready to be timed: its inputs drawn, its libraries built, the chain calibrated."""

    def __init__(self, subject: Subject, tools: Tools) -> None:
        self.subject = subject
        self._tools = tools
        problem, case = subject.problem, subject.case
        secret = secrets.token_bytes(32)
        self._bench = Bench(
            tools.sandbox, tools.programs, problem, tools.timer_core, tools.worker_core, secret, Silent()
        )
        draws = [
            Draw(case.dims, case.distribution, seed_of(secret, f"time {number}"), False)
            for number in range(pool_sets(problem, case))
        ]
        self._draws = Draws(problem, subject.reference_py, draws)
        self._libraries: Libraries = {}
        self._times = CaseTimes(case, self._draws.sets)
        self._count = 0

    @property
    def library(self) -> Path:
        """The library that other tools time, too: the candidate's."""
        return self._libraries["candidate"]

    def prepare(self, tell: Callable[[str], None]) -> int:
        """Draw, build and calibrate; return the steps of the chain. Raises RunEnded."""
        tell(f"{self.subject.name}: inputs and libraries")
        self._draws.start(self._tools.sandbox)
        self._draws.ready()
        self._draws.write_bounds(self._draws.sets)
        twins = {"candidate": self._built(0), "baseline": self._built(0, copy=1)}
        tell(f"{self.subject.name}: calibrating the slowed kernel")
        steps = self._calibrate(twins)
        self._libraries = {**twins, "incumbent": self._built(steps)}
        return steps

    def one(self) -> Trial:
        """Time one set of fresh processes; raises RunEnded."""
        if self._count % _SETS_PER_BATCH == 0:
            self._times = CaseTimes(self.subject.case, self._draws.sets)
        self._count += 1
        begin = time.monotonic()
        self._measure(self._libraries, self._times)
        seconds = time.monotonic() - begin
        ratios, least_ns = self._times.log_ratios, self._times.least_ns
        return Trial(
            ratios["baseline"][-1],
            ratios["incumbent"][-1],
            least_ns["candidate"][-1],
            least_ns["incumbent"][-1],
            seconds,
        )

    def close(self) -> None:
        self._draws.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _built(self, steps: int, copy: int = 0) -> Path:
        library = build(self.subject.with_chain(steps, copy), self._tools.sandbox, self._tools.cache)
        require_clean(library.report)
        return library.path

    def _calibrate(self, twins: Libraries) -> int:
        plain_ns = min(self._measure_again(twins, 1).least_ns["candidate"])
        fewer, more = trial_steps(plain_ns)
        chains = {
            "candidate": twins["candidate"],
            "baseline": self._built(fewer),
            "incumbent": self._built(more),
        }
        times = self._measure_again(chains, _CALIBRATION_SETS)
        few, many = (median(times.log_ratios[role]) for role in ("baseline", "incumbent"))
        return chain_steps(min(times.least_ns["candidate"]), Chained(fewer, few), Chained(more, many))

    def _measure_again(self, libraries: Libraries, sets: int) -> CaseTimes:
        """Time so many sets; one that gives no figure is made again, as often as there are sets and twice more."""
        times = CaseTimes(self.subject.case, self._draws.sets)
        failures = 0
        while len(times.rounds) < sets:
            try:
                self._measure(libraries, times)
            except RunEnded:
                failures += 1
                if failures > sets + 2:
                    raise
        return times

    def _measure(self, libraries: Libraries, times: CaseTimes) -> None:
        surroundings = Surroundings((self._tools.timer_core, self._tools.worker_core))
        label = f"trial {secrets.token_hex(8)}"
        contest = Contest(self._bench, libraries, self._draws, surroundings, Deadline(_SET_SECONDS))
        ProcessSet(contest, label).measure([times], HOT)
