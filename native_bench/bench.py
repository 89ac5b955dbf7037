"""What every stage of a run needs: the sandbox, our programs, the problem, the cores, the secret, whom to tell."""

import hashlib
import hmac
import random
import time
from dataclasses import dataclass, field
from typing import Protocol

from native_bench.cpu.trusted import TrustedPrograms
from native_bench.sandbox.interface import Sandbox
from submissions.kernel_package.problem import Problem


class Reporter(Protocol):
    """Whom a run tells what it does; called from one thread."""

    def stage(self, name: str) -> None: ...

    def progress(self, fraction: float) -> None: ...

    def log(self, text: str) -> None: ...


class Deadline:
    """A moment after which a stage is over, whoever is slow."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.left == 0.0


@dataclass(frozen=True)
class Bench:
    """The surroundings of one run."""

    sandbox: Sandbox
    programs: TrustedPrograms
    problem: Problem
    timer_core: int
    worker_core: int
    secret: bytes = field(repr=False)
    reporter: Reporter

    def seed(self, label: str) -> int:
        """Return 63 bits from the run's secret, others for each label."""
        return seed_of(self.secret, label)

    def coin(self, label: str) -> random.Random:
        return random.Random(self.seed(label))

    @property
    def timeout_ns(self) -> int:
        return int(self.problem.timeout_s * 1e9)


def seed_of(secret: bytes, label: str) -> int:
    """Return 63 bits that only the holder of the secret can foresee."""
    digest = hmac.new(secret, label.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1
