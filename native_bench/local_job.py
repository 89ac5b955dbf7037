"""A job made on the spot, for the command line: a starter kernel or a package folder, against its baseline."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from native_bench.hidden import hidden_dims
from native_bench.job import PROCESSES, Contestant, Job, read_files
from native_bench.starter import kernels, problems
from submissions.kernel_package.description import parse_description
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.package import Package, check_board, check_package
from submissions.kernel_package.problem import Problem, parse_problem


@dataclass(frozen=True)
class Options:
    """What the command line chose."""

    mode: str
    cache_dir: Path
    problems_dir: Path | None = None
    backend: str = "bwrap"
    processes: int | None = None


@dataclass(frozen=True)
class Target:
    """A kernel to be run, with its problem."""

    package: Package
    problem: Problem
    reference_py: bytes


def local_job(target: str, options: Options) -> Job:
    """Return the job for a kernel id or a package's folder; raises Rejected."""
    chosen = find_target(target, options.problems_dir)
    kernel_id = chosen.package.kernel_id
    is_compared = options.mode != "check" and not kernel_id.is_baseline
    return _job(chosen, _starter(kernel_id.board.baseline) if is_compared else None, options)


def compared_job(target: str, other: str, options: Options) -> Job:
    """Return the job that times one kernel with another as its baseline; raises Rejected, also across boards."""
    chosen, against = find_target(target, options.problems_dir), find_target(other, options.problems_dir)
    boards = [found.package.kernel_id.board for found in (chosen, against)]
    if boards[0] != boards[1]:
        message = (
            f"{target} is of {boards[0]}, {other} of {boards[1]}: only kernels of one problem can be compared"
        )
        raise Rejected("compare:other-problem", message)
    return _job(chosen, against.package, options)


def find_target(target: str, problems_dir: Path | None) -> Target:
    """Return the kernel with this id, or in this folder, checked against its problem; raises Rejected."""
    package = _package(target)
    problem, reference_py = find_problem(package.kernel_id.problem, problems_dir)
    return Target(check_board(package, problem), problem, reference_py)


def find_problem(problem_id: ProblemId, problems_dir: Path | None) -> tuple[Problem, bytes]:
    """Return a problem of the folder (None: of the starter zoo) and its reference.py; raises Rejected."""
    problem_yaml, reference_py = _problem_files(problem_id, problems_dir)
    return parse_problem(problem_yaml, problem_id), reference_py


def _job(target: Target, baseline: Package | None, options: Options) -> Job:
    return Job(
        run="local",
        kind="check" if options.mode == "check" else "measure",
        mode=options.mode,
        problem=target.problem,
        reference_py=target.reference_py,
        processes=PROCESSES[options.mode] if options.processes is None else options.processes,
        candidate=Contestant.of(target.package.files, target.package.digest),
        baseline=None if baseline is None else Contestant.of(baseline.files, baseline.digest),
        incumbent=None,
        secret=secrets.token_bytes(32),
        hidden_dims=hidden_dims(target.problem, secrets.token_bytes(32)),
        cache_dir=options.cache_dir,
        backend=options.backend,
    )


def _package(target: str) -> Package:
    folder = Path(target)
    if not folder.is_dir():
        return _starter(KernelId.parse(target))
    if not (folder / DESCRIPTION_PATH).is_file():
        raise Rejected("package:missing-description", f"{target} has no {DESCRIPTION_PATH}")
    files = read_files(folder)
    return check_package(files, parse_description(files[DESCRIPTION_PATH]).kernel_id)


def _starter(kernel_id: KernelId) -> Package:
    for known, files in kernels(kernel_id.board.arch):
        if known == kernel_id:
            return check_package(files, kernel_id)
    raise Rejected(
        "run:unknown-kernel", f"{kernel_id} is no starter kernel and no folder; `list` names the kernels"
    )


def _problem_files(problem_id: ProblemId, folder: Path | None) -> tuple[bytes, bytes]:
    if folder is not None:
        place = folder / str(problem_id)
        if not (place / "problem.yaml").is_file():
            raise Rejected("package:unknown-problem", f"{folder} has no {problem_id}/problem.yaml")
        return (place / "problem.yaml").read_bytes(), (place / "reference.py").read_bytes()
    for known, files in problems():
        if known == problem_id:
            return files["problem.yaml"], files["reference.py"]
    raise Rejected("package:unknown-problem", f"{problem_id} is no starter problem: give --problems")
