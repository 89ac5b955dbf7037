"""`sweep <problem>`: time one kernel and its board's baseline at sizes of the caller's choice."""

import argparse
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from native_bench.commands.options import (
    EXIT_INTERRUPTED,
    EXIT_NOT_OK,
    EXIT_OK,
    EXIT_USAGE,
    add_files,
    add_measuring,
    options_of,
    print_json,
    require_writable,
    write_file,
)
from native_bench.commands.series import Measured, Planned, measure_one, measure_series, say
from native_bench.contract import dims_text
from native_bench.cpu.draws import distributions_of
from native_bench.figures import csv_text
from native_bench.figures_table import figures_text
from native_bench.host import native_arch
from native_bench.job import Job
from native_bench.local_job import Options, find_problem, local_job
from native_bench.room import Need, need_of, needs_lines, require_room, room_bytes
from native_bench.sizes import Plan, parse_number, parse_span, plan_points
from native_bench.starter import kernels
from native_bench.sweep_plot import sweep_svg
from submissions.kernel_package.errors import Rejected, ZooError
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.problem import Case, Problem


@dataclass(frozen=True)
class _Sweep:
    """What a call asks for: the points, what they need, and the kernels that may be swept."""

    problem: Problem
    plan: Plan
    needs: Sequence[Need]
    room_bytes: int
    jobs: Sequence[Job]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problem", help="a problem's id, such as GEMM/nn/fp32")
    parser.add_argument(
        "--sizes",
        nargs="+",
        action="extend",
        required=True,
        metavar="SIZES",
        help="n=1k:4m:8 (from, to, how many, spaced evenly in logs; k is 1024), m=n=k=32:512:6, or k=64",
    )
    parser.add_argument(
        "--kernel", help="a kernel's id or a package's folder (default: the fastest starter kernel)"
    )
    parser.add_argument("--memory-limit", metavar="BYTES", help="4g or the like (default: what is free)")
    add_measuring(parser, "benchmark")
    add_files(parser)


def sweep(arguments: argparse.Namespace) -> int:
    """Return 0 when every size was timed, 1 when one was not, 2 for a wrong call, 130 after Ctrl-C."""
    try:
        require_writable(arguments.csv, arguments.svg)
        asked = _read(arguments)
    except ZooError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    for line in needs_lines(asked.needs, asked.room_bytes):
        say(line)
    job = _fastest(asked)
    planned = [Planned(dims_text(dims), _job_at(job, dims)) for dims in asked.plan.points]
    return _tell(arguments, asked, planned, measure_series(planned))


def _read(arguments: argparse.Namespace) -> _Sweep:
    problem, reference_py = find_problem(ProblemId.parse(arguments.problem), arguments.problems)
    plan = plan_points(problem, [parse_span(text) for text in arguments.sizes])
    jobs = _jobs(arguments.kernel, problem.id, options_of(arguments))
    room = room_bytes(None if arguments.memory_limit is None else parse_number(arguments.memory_limit))
    distributions = len(distributions_of(reference_py)[0])
    needs = [need_of(problem, case_at(problem, dims), distributions) for dims in plan.points]
    require_room(needs, room)
    return _Sweep(problem, plan, needs, room, jobs)


def _jobs(kernel: str | None, problem_id: ProblemId, options: Options) -> list[Job]:
    """Return the job of the kernel asked for, else those of the board's starter kernels besides the baseline."""
    if kernel is not None:
        job = local_job(kernel, options)
        if job.problem.id != problem_id:
            message = f"{kernel} is of {job.problem.id}, and {problem_id} is to be swept"
            raise Rejected("sweep:other-problem", message)
        return [job]
    return [local_job(str(kernel_id), options) for kernel_id in starters_of(problem_id)]


def starters_of(problem_id: ProblemId) -> list[KernelId]:
    """Return the starter kernels to choose from: not the baseline, unless it is alone; raises Rejected."""
    found = [kernel_id for kernel_id, _ in kernels(native_arch()) if kernel_id.problem == problem_id]
    if not found:
        raise Rejected("sweep:no-kernel", f"{problem_id} has no starter kernel; give --kernel")
    return [kernel_id for kernel_id in found if not kernel_id.is_baseline] or found


def case_at(problem: Problem, dims: Mapping[str, int]) -> Case:
    """Return the case of a size, drawn as the problem's first one is."""
    label = "_".join(f"{name}{extent}" for name, extent in dims.items())
    return Case(label, dims, problem.cases[0].distribution)


def _job_at(job: Job, dims: Mapping[str, int]) -> Job:
    """Return the job with this size as its only case, of which the kernel is checked too; no hidden ones."""
    problem = replace(job.problem, cases=(case_at(job.problem, dims),))
    return replace(job, problem=problem, hidden_dims=(), secret=secrets.token_bytes(32))


def _fastest(asked: _Sweep) -> Job:
    """Return the job whose kernel is the fastest at the middle size, measured quickly."""
    if len(asked.jobs) == 1:
        return asked.jobs[0]
    middle = asked.plan.points[len(asked.plan.points) // 2]
    found: list[tuple[float, Job]] = []
    for job in asked.jobs:
        tried = Planned(str(job.candidate.description.kernel_id), replace(_job_at(job, middle), processes=1))
        say(f"which is the fastest at {dims_text(middle)}? {tried.label} …")
        # Against the same baseline: other work may have slowed down one whole sitting.
        found += [(row.speedup.value, job) for row in measure_one(tried) if row.speedup is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else asked.jobs[0]


def _tell(arguments: argparse.Namespace, asked: _Sweep, planned: Sequence[Planned], measured: Measured) -> int:
    rows = measured.rows
    if arguments.json:
        print_json(
            {
                "problem_id": str(asked.problem.id),
                "kernel_id": planned[0].kernel_id,
                "baseline": planned[0].baseline,
                "varying": list(asked.plan.varying.names),
                "is_complete": measured.is_complete,
                "room_bytes": asked.room_bytes,
                "memory": [_need_json(need) for need in asked.needs],
                "rows": [row.as_json() for row in rows],
            }
        )
    elif rows:
        heading = f"{planned[0].kernel_id} against {planned[0].baseline}"
        print("\n".join([heading, "", figures_text(rows, with_kernel=False)]))
    is_written = _write(arguments, asked, measured)
    if not measured.is_complete:
        return EXIT_INTERRUPTED
    return EXIT_OK if measured.is_ok and is_written else EXIT_NOT_OK


def _need_json(need: Need) -> dict[str, object]:
    tensors = dict(need.tensor_bytes)
    return {"dims": dict(need.dims), "tensor_bytes": tensors, "sets": need.sets, "total_bytes": need.total_bytes}


def _write(arguments: argparse.Namespace, asked: _Sweep, measured: Measured) -> bool:
    is_csv_written = write_file(arguments.csv, csv_text(measured.rows)) if measured.rows else True
    if arguments.svg is None:
        return is_csv_written
    if not any(row.t_ns for row in measured.rows):
        say(f"{Path(arguments.svg)} was not written: nothing was timed")
        return False
    plot = sweep_svg(measured.rows, asked.problem, asked.plan.varying)
    return write_file(arguments.svg, plot) and is_csv_written
