"""The conversation between a runner and the site, as data both sides import.

 1. register   a runner tells its name, archs and life; a new life ends the leases of the old one
 2. claim      the site answers an Assignment, or nothing; repeated, it answers the same lease
 3. package    the runner fetches each contestant by its digest
 4. heartbeat  the runner renews its lease and learns whether to go on (Order)
 5. stage, log what the run does now; numbered, repeats change nothing
 6. result     ends the lease; repeated, it gets the same answer; LeaseLost once the lease is gone

All times are the site's. A message whose epoch is not the run's changes nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self

PROTOCOL_VERSION = 1


class LeaseLost(Exception):
    """The lease has ended: the runner must stop the run and forget it."""


class SiteUnreachable(Exception):
    """The site gave no answer this time; the call may be tried again, all calls are idempotent."""


@dataclass(frozen=True)
class Registration:
    """What a runner says of itself; `hardware` and `limits` are JSON data shown on its page."""

    name: str
    kind: str
    archs: tuple[str, ...]
    version: str
    life: str
    device: str
    isolation: str
    hardware: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Registered:
    """The site's answer to a registration."""

    runner_id: int
    heartbeat_seconds: float
    lease_seconds: float


@dataclass(frozen=True)
class Contestant:
    """A package that takes part in a sitting; its files are fetched by digest."""

    kernel_id: str
    digest: str


@dataclass(frozen=True)
class Assignment:
    """One leased run. `secret` (hex, 32 bytes) and `hidden_dims` are never logged nor stored by a runner."""

    lease: str
    epoch: int
    run: str
    kind: str
    mode: str
    problem_id: str
    problem_version: int
    problem_yaml: str
    reference_py: str
    processes: int
    secret: str = field(repr=False)
    hidden_dims: tuple[Mapping[str, int], ...] = field(repr=False)
    candidate: Contestant
    baseline: Contestant | None
    incumbent: Contestant | None
    best_speedup: float | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Order:
    """The answer to a heartbeat: go on, or stop and why."""

    keep: bool
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """How a run ended, as the engine reports it; JSON data only, no seeds and no hidden dims.

    `cases` and `environment` are in the shape of a run record; `details` is what helps the entrant. `samples` is
    the JSON text of every batch's time.
    """

    verdict: str
    code: str
    message: str
    stage: str
    stages_ms: Mapping[str, float]
    evidence: str
    details: Mapping[str, Any]
    cases: tuple[Mapping[str, Any], ...]
    contestants: Mapping[str, str | None]
    secret_sha256: str
    harness_version: str
    processes: int
    environment: Mapping[str, Any]
    log: str = ""
    samples: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read a result; unknown or missing members raise TypeError."""
        values = dict(document)
        values["cases"] = tuple(values.get("cases", ()))
        return cls(**values)


class Port(Protocol):
    """How a daemon reaches the site: HTTP, or direct calls on the site's own machine."""

    def register(self, registration: Registration) -> Registered: ...

    def claim(self, wait_seconds: float) -> Assignment | None: ...

    def package(self, digest: str) -> bytes: ...

    def heartbeat(self, lease: str, epoch: int, stage: str, progress: float) -> Order: ...

    def stage(self, lease: str, epoch: int, stage: str) -> None: ...

    def log(self, lease: str, epoch: int, sequence: int, text: str) -> None: ...

    def result(self, lease: str, epoch: int, result: Result) -> None: ...
