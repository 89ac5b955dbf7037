"""The folder of one run: the problem, the contestants with their digests verified, and the engine's job.json."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from runners.daemon.config import DaemonConfig
from runners.protocol import Assignment, Contestant, Port
from submissions.kernel_package.archive import read_archive
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.errors import Broken
from submissions.kernel_package.limits import TRUSTED_LIMITS

ROLES = ("candidate", "baseline", "incumbent")


@contextmanager
def workspace(port: Port, assignment: Assignment, config: DaemonConfig) -> Iterator[Path]:
    """Make the run's folder, and remove it whatever happens; raises Broken where a package is not as assigned."""
    folder = config.workdir / "runs" / f"{assignment.run}-{assignment.epoch}"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _fill(folder, port, assignment, config)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clear_workspaces(config: DaemonConfig) -> None:
    """Remove what an earlier life left; only for the one holder of the runner's lock."""
    shutil.rmtree(config.workdir / "runs", ignore_errors=True)


def contestants(assignment: Assignment) -> dict[str, Contestant | None]:
    """Return the parties of the sitting by role."""
    return {role: getattr(assignment, role) for role in ROLES}


def digests(assignment: Assignment) -> dict[str, str | None]:
    """Return the parties' digests by role, as a result names them."""
    return {role: party.digest if party else None for role, party in contestants(assignment).items()}


def secret_line(assignment: Assignment) -> bytes:
    """Return what the engine reads from its standard input; it is written nowhere else."""
    dims = [dict(dims) for dims in assignment.hidden_dims]
    return json.dumps({"secret": assignment.secret, "hidden_dims": dims}).encode() + b"\n"


def _fill(folder: Path, port: Port, assignment: Assignment, config: DaemonConfig) -> None:
    _write(folder / "problem", {"problem.yaml": assignment.problem_yaml.encode()})
    _write(folder / "problem", {"reference.py": assignment.reference_py.encode()})
    fetched: dict[str, Mapping[str, bytes]] = {}
    for role, party in contestants(assignment).items():
        if party is not None:
            files = fetched.get(party.digest) or _fetch(port, party)
            fetched[party.digest] = files
            _write(folder / role, files)
    (folder / "tmp").mkdir()
    config.cache_dir.mkdir(parents=True, exist_ok=True)
    (folder / "job.json").write_text(json.dumps(_job(assignment, config)))


def _fetch(port: Port, party: Contestant) -> Mapping[str, bytes]:
    files = read_archive(port.package(party.digest), TRUSTED_LIMITS)
    found = tree_digest(files)
    if found != party.digest:
        raise Broken(
            "runner:package-digest",
            f"the package of {party.kernel_id} has digest {found[:12]}, not {party.digest[:12]} as assigned",
        )
    return files


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        target = folder / path
        if not target.resolve().is_relative_to(folder.resolve()):
            raise Broken("runner:package-path", f"{path!r} points outside its package")
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def _job(assignment: Assignment, config: DaemonConfig) -> dict[str, object]:
    return {
        "run": assignment.run,
        "kind": assignment.kind,
        "mode": assignment.mode,
        "kernel_id": assignment.candidate.kernel_id,
        "problem_id": assignment.problem_id,
        "processes": assignment.processes,
        "best_speedup": assignment.best_speedup,
        "contestants": digests(assignment),
        "cache_dir": str(config.cache_dir),
        "backend": config.backend,
        "slot": config.slot,
    }
