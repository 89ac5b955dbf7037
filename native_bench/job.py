"""What a run is asked to do, and where the engine keeps what it builds."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from submissions.kernel_package.description import Description, parse_description
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import DESCRIPTION_PATH, Files
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem import Problem, parse_problem

PROCESSES = {"ranked": 5, "benchmark": 3, "check": 0}


@dataclass(frozen=True)
class Contestant:
    """One package that takes part: its files, and what it says of itself."""

    files: Files = field(repr=False)
    description: Description
    digest: str | None

    @classmethod
    def of(cls, files: Files, digest: str | None) -> Self:
        return cls(files, parse_description(files[DESCRIPTION_PATH]), digest)


@dataclass(frozen=True)
class Job:
    """One run. Without a baseline the candidate is measured against a second copy of itself.

    `best_speedup` is that of the board's first, over the baseline: who seems to beat it is measured more.
    """

    run: str
    kind: str
    mode: str
    problem: Problem
    reference_py: bytes = field(repr=False)
    processes: int
    candidate: Contestant
    baseline: Contestant | None
    incumbent: Contestant | None
    secret: bytes = field(repr=False)
    hidden_dims: tuple[Mapping[str, int], ...] = field(repr=False)
    cache_dir: Path
    backend: str = "bwrap"
    slot: int = 0
    best_speedup: float | None = None

    @property
    def is_timed(self) -> bool:
        return self.kind not in ("check", "dry_run") and self.mode != "check"

    @property
    def secret_sha256(self) -> str:
        return hashlib.sha256(self.secret).hexdigest()

    @property
    def digests(self) -> dict[str, str | None]:
        roles = {"candidate": self.candidate, "baseline": self.baseline, "incumbent": self.incumbent}
        return {role: contestant.digest if contestant else None for role, contestant in roles.items()}


def read_job(folder: Path, secret_line: bytes) -> Job:
    """Read a job from its folder and the line of secrets on stdin; raises Rejected or ValueError on a bad one."""
    document: dict[str, Any] = json.loads((folder / "job.json").read_bytes())
    secrets: dict[str, Any] = json.loads(secret_line)
    digests: dict[str, str | None] = document["contestants"]
    problem_yaml = (folder / "problem" / "problem.yaml").read_bytes()
    candidate = _contestant(folder, "candidate", digests)
    if candidate is None:
        raise Rejected("run:job", "the job has no candidate")
    return Job(
        run=document["run"],
        kind=document["kind"],
        mode=document["mode"],
        problem=parse_problem(problem_yaml, ProblemId.parse(document["problem_id"])),
        reference_py=(folder / "problem" / "reference.py").read_bytes(),
        processes=int(document["processes"]),
        candidate=candidate,
        baseline=_contestant(folder, "baseline", digests),
        incumbent=_contestant(folder, "incumbent", digests),
        secret=bytes.fromhex(secrets["secret"]),
        hidden_dims=tuple(secrets["hidden_dims"]),
        cache_dir=Path(document["cache_dir"]),
        backend=document.get("backend", "bwrap"),
        slot=int(document.get("slot", 0)),
        best_speedup=document.get("best_speedup"),
    )


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the regular files under a folder by their posix path; links are not followed."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _contestant(folder: Path, role: str, digests: Mapping[str, str | None]) -> Contestant | None:
    if not (folder / role / DESCRIPTION_PATH).is_file():
        return None
    return Contestant.of(read_files(folder / role), digests.get(role))
