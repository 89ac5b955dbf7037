"""A site in memory behind the daemon's Port: it keeps what it is told and can lose calls."""

from dataclasses import dataclass, field

from runners.protocol import Assignment, Contestant, LeaseLost, Order, Registered, SiteUnreachable
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.digest import tree_digest

SECRET = "ab" * 32


@dataclass
class FakePort:
    behaviours: list[str] = field(default_factory=list)
    heartbeat_seconds: float = 0.2
    lease_seconds: float = 60.0
    packages: dict[str, bytes] = field(default_factory=dict)
    registrations: list = field(default_factory=list)
    beats: list = field(default_factory=list)
    stages: list = field(default_factory=list)
    logs: dict[int, str] = field(default_factory=dict)
    results: list = field(default_factory=list)
    order: Order = field(default_factory=lambda: Order(keep=True))
    order_at: str = "build"
    is_lost: bool = False
    unreachable_results: int = 0
    unreachable_logs: int = 0
    are_beats_lost: bool = False

    def register(self, registration):
        self.registrations.append(registration)
        return Registered(1, self.heartbeat_seconds, self.lease_seconds)

    def claim(self, wait_seconds):
        if not self.behaviours:
            return None
        files = {"behaviour.txt": self.behaviours.pop(0).encode(), ".kernel_package/desc.yaml": b"{}"}
        digest = tree_digest(files)
        self.packages.setdefault(digest, write_archive(files))
        return assignment(digest)

    def package(self, digest):
        return self.packages[digest]

    def heartbeat(self, lease, epoch, stage, progress):
        self.beats.append((stage, progress))
        if self.are_beats_lost:
            raise SiteUnreachable("the network is down")
        return self.order if stage == self.order_at else Order(keep=True)

    def stage(self, lease, epoch, stage):
        if self.is_lost:
            raise LeaseLost("gone")
        self.stages.append(stage)

    def log(self, lease, epoch, sequence, text):
        if self.unreachable_logs:
            self.unreachable_logs -= 1
            raise SiteUnreachable("the network is down")
        self.logs.setdefault(sequence, text)

    def result(self, lease, epoch, result):
        if self.unreachable_results:
            self.unreachable_results -= 1
            raise SiteUnreachable("the network is down")
        self.results.append(result)


def assignment(digest):
    kernel = "x86_64/Vector/saxpy/fp32/fast"
    return Assignment(
        lease="lease-1",
        epoch=1,
        run="0b5b0b3e-1f0e-4e0e-9a51-000000000001",
        kind="measure",
        mode="ranked",
        problem_id="Vector/saxpy/fp32",
        problem_version=1,
        problem_yaml="{}",
        reference_py="",
        processes=5,
        secret=SECRET,
        hidden_dims=({"n": 7},),
        candidate=Contestant(kernel, digest),
        baseline=Contestant("x86_64/Vector/saxpy/fp32/reference_impl", digest),
        incumbent=None,
    )
