"""A job made on the spot, for the command line: a starter kernel or a package folder, against its baseline."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from native_bench.hidden import hidden_dims
from native_bench.host import native_arch
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


def local_job(target: str, options: Options) -> Job:
    """Return the job for a kernel id or a package's folder; raises Rejected."""
    package = _package(target)
    problem_yaml, reference_py = _problem_files(package.kernel_id.problem, options.problems_dir)
    problem: Problem = parse_problem(problem_yaml, package.kernel_id.problem)
    package = check_board(package, problem)
    is_compared = options.mode != "check" and not package.kernel_id.is_baseline
    baseline = _starter(package.kernel_id.board.baseline) if is_compared else None
    return Job(
        run="local",
        kind="check" if options.mode == "check" else "measure",
        mode=options.mode,
        problem=problem,
        reference_py=reference_py,
        processes=PROCESSES[options.mode] if options.processes is None else options.processes,
        candidate=Contestant.of(package.files, package.digest),
        baseline=None if baseline is None else Contestant.of(baseline.files, baseline.digest),
        incumbent=None,
        secret=secrets.token_bytes(32),
        hidden_dims=hidden_dims(problem, secrets.token_bytes(32)),
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
    for known, files in kernels(native_arch()):
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
