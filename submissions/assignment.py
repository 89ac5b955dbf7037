"""The parts of which a claimed run's assignment is made: problem, packages, processes, and what stays secret."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from native_bench.hidden import hidden_dims
from submissions import secrets, spool
from submissions.board import Board, Contender, board_of
from submissions.kernel_package.errors import Broken
from submissions.kernel_package.problem import Problem
from submissions.models import Mode, Run, RunKind, RunState, Submission
from submissions.scheduling import PROCESSES
from submissions.store import reader


@dataclass(frozen=True)
class AssignmentParts:
    """What a runner is given for one lease; `secret` (hex) and `hidden_dims` go to the runner and nowhere else."""

    kind: str
    mode: str
    kernel_id: str
    problem_id: str
    problem_version: int
    problem_yaml: str
    reference_py: str
    processes: int
    secret: str = field(repr=False)
    hidden_dims: tuple[Mapping[str, int], ...] = field(repr=False)
    candidate: Contender
    baseline: Contender | None
    incumbent: Contender | None
    best_speedup: float | None


def assignment_for(run: Run) -> AssignmentParts:
    """Return the parts of a claimed run's assignment, read from one commit of main.

    The commit is kept on the run, so a claim that is repeated is answered with the same packages.
    Raises Broken when the store or the spool lacks what the run needs.
    """
    board = board_of(reader(), run.kernel_id, run.incumbent_commit)
    files = board.problem()
    problem = files.problem
    candidate = _candidate(run, board)
    incumbent = board.standing() if _has_incumbent(run) else None
    _keep_sitting(run, board.commit, candidate, incumbent, problem.version)
    mode = run.submission.mode if run.submission else Mode.BENCHMARK
    return AssignmentParts(
        kind=run.kind,
        mode=mode,
        kernel_id=run.kernel_id,
        problem_id=str(problem.id),
        problem_version=problem.version,
        problem_yaml=files.problem_yaml.decode(),
        reference_py=files.reference_py.decode(),
        processes=PROCESSES[mode],
        secret=secrets.run_secret(run.pk, run.epoch).hex(),
        hidden_dims=_hidden_dims(problem),
        candidate=candidate,
        baseline=board.baseline(),
        incumbent=incumbent,
        best_speedup=board.best_speedup(),
    )


def _candidate(run: Run, board: Board) -> Contender:
    if run.submission_id is not None:
        package = board.complete(spool.package_bytes(run.submission_id))
        return Contender(run.kernel_id, package.digest, package.files)
    present = board.present()
    if present is None:
        raise Broken("store:kernel-missing", f"main at {board.commit[:8]} has no kernel {run.kernel_id}")
    return present


def _has_incumbent(run: Run) -> bool:
    return run.submission_id is not None and run.kind == RunKind.MEASURE


def _keep_sitting(
    run: Run, commit: str, candidate: Contender, incumbent: Contender | None, problem_version: int
) -> None:
    run.incumbent_commit = commit
    run.incumbent_digest = incumbent.digest if incumbent else ""
    run.problem_version = problem_version
    Run.objects.filter(pk=run.pk, state=RunState.LEASED, epoch=run.epoch).update(
        incumbent_commit=run.incumbent_commit,
        incumbent_digest=run.incumbent_digest,
        problem_version=problem_version,
    )
    # A maintainer may have changed the board's scripts, which are part of the package, since validation.
    changed = Submission.objects.filter(runs=run).exclude(tree_digest=candidate.digest)
    changed.update(tree_digest=candidate.digest)


def _hidden_dims(problem: Problem) -> tuple[Mapping[str, int], ...]:
    return tuple(hidden_dims(problem, secrets.version_secret(problem.id, problem.version)))
