"""Measure several jobs one after the other: progress and the time left on stderr; Ctrl-C keeps what is done."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from native_bench.figures import Figures, figures_of
from native_bench.figures_table import short_text
from native_bench.job import Job
from native_bench.run import run_job


@dataclass(frozen=True)
class Planned:
    """One job of a series, and what it is called while it runs."""

    label: str
    job: Job

    @property
    def kernel_id(self) -> str:
        return str(self.job.candidate.description.kernel_id)

    @property
    def baseline(self) -> str:
        return str((self.job.baseline or self.job.candidate).description.kernel_id)


@dataclass
class Measured:
    """The rows of a series so far."""

    rows: list[Figures] = field(default_factory=list)
    is_complete: bool = True

    @property
    def is_ok(self) -> bool:
        return self.is_complete and bool(self.rows) and all(row.is_ok for row in self.rows)


class QuietReporter:
    """Tells nothing but what goes wrong beside the measuring."""

    def stage(self, name: str) -> None:
        pass

    def progress(self, fraction: float) -> None:
        pass

    def log(self, text: str) -> None:
        say(text)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure_series(planned: Sequence[Planned]) -> Measured:
    """Run all jobs in their order; whatever ends one of them, its row says so and the next one runs."""
    measured = Measured()
    try:
        for number, one in enumerate(planned, 1):
            say(f"[{number}/{len(planned)}] {one.label} …")
            begin = time.monotonic()
            rows = measure_one(one)
            measured.rows += rows
            say(_told(rows, time.monotonic() - begin, len(planned) - number))
    except KeyboardInterrupt:
        measured.is_complete = False
        say(f"stopped after {len(measured.rows)} rows; they are kept")
    return measured


def measure_one(planned: Planned) -> list[Figures]:
    result = run_job(planned.job, QuietReporter())
    return figures_of(planned.kernel_id, planned.baseline, planned.job.problem, result)


def _told(rows: Sequence[Figures], seconds: float, left: int) -> str:
    shown = "; ".join(short_text(row) if len(rows) == 1 else f"{row.case} {short_text(row)}" for row in rows)
    # Of a sweep the next size takes longer than the mean of those before it.
    return f"  {shown}" + (f"; about {duration_text(seconds * left)} left" if left else "")


def duration_text(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
