"""`sweep <problem>`: time one kernel and its board's baseline at sizes of your choice or at named cases."""

import argparse
import secrets
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from native_bench.commands.options import (
    EXIT_INTERRUPTED,
    EXIT_NOT_OK,
    EXIT_OK,
    EXIT_USAGE,
    add_files,
    add_measuring,
    print_json,
    require_writable,
    write_file,
)
from native_bench.commands.series import Measured, Planned, measure_one, measure_series, say
from native_bench.commands.sweep_call import Sweep, read_sweep
from native_bench.contract import dims_text
from native_bench.figures import csv_text
from native_bench.figures_table import figures_text
from native_bench.job import Job
from native_bench.room import Need, needs_lines
from native_bench.sweep_plot import sweep_svg
from submissions.kernel_package.errors import ZooError
from submissions.kernel_package.kernelbench import BENCHMARKS
from submissions.kernel_package.problem import Case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(BENCHMARKS)
    parser.add_argument("problem", help=f"a problem's id, such as GEMM/nn/fp32, or KernelBench's name: {names}")
    parser.add_argument("--op", help="which operation of KernelBench's vector: add, subtract, multiply or divide")
    points = parser.add_mutually_exclusive_group(required=True)
    points.add_argument(
        "--sizes",
        nargs="+",
        action="extend",
        metavar="SIZES",
        help="n=1k:4m:8 (from, to, how many, spaced evenly in logs; k is 1024), m=n=k=32:512:6, or k=64",
    )
    points.add_argument(
        "--cases", choices=("kernelbench",), help="KernelBench's cases of the problem, those that fit in memory"
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
        asked = read_sweep(arguments)
    except ZooError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    for line in [*needs_lines([*asked.needs.values()], asked.room_bytes), *asked.left_out_lines]:
        say(line)
    job = _fastest(asked)
    planned = [
        Planned(dims_text(case.dims) if arguments.cases is None else case.id, _job_at(job, case))
        for case in asked.plan.cases
    ]
    return _tell(arguments, asked, planned, measure_series(planned))


def _job_at(job: Job, case: Case) -> Job:
    """Return the job with this as its only case, of which the kernel is checked too; no hidden ones."""
    problem = replace(job.problem, cases=(case,))
    return replace(job, problem=problem, hidden_dims=(), secret=secrets.token_bytes(32))


def _fastest(asked: Sweep) -> Job:
    """Return the job whose kernel is the fastest at the middle size, measured quickly."""
    if len(asked.jobs) == 1:
        return asked.jobs[0]
    middle = asked.plan.cases[len(asked.plan.cases) // 2]
    found: list[tuple[float, Job]] = []
    for job in asked.jobs:
        tried = Planned(str(job.candidate.description.kernel_id), replace(_job_at(job, middle), processes=1))
        say(f"which is the fastest at {dims_text(middle.dims)}? {tried.label} …")
        # Against the same baseline: other work may have slowed down one whole sitting.
        found += [(row.speedup.value, job) for row in measure_one(tried) if row.speedup is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else asked.jobs[0]


def _tell(arguments: argparse.Namespace, asked: Sweep, planned: Sequence[Planned], measured: Measured) -> int:
    rows = measured.rows
    if arguments.json:
        print_json(
            {
                "problem_id": str(asked.problem.id),
                "kernel_id": planned[0].kernel_id,
                "baseline": planned[0].baseline,
                "varying": [] if asked.plan.varying is None else list(asked.plan.varying.names),
                "is_complete": measured.is_complete,
                "room_bytes": asked.room_bytes,
                "memory": [_need_json(need) for need in asked.needs.values()],
                "left_out": list(asked.left_out),
                "rows": [row.as_json() for row in rows],
            }
        )
    elif rows:
        heading = f"{planned[0].kernel_id} against {planned[0].baseline}"
        left_out = ["", *asked.left_out_lines] if asked.left_out else []
        print("\n".join([heading, "", figures_text(rows, with_kernel=False), *left_out]))
    is_written = _write(arguments, asked, measured)
    if not measured.is_complete:
        return EXIT_INTERRUPTED
    return EXIT_OK if measured.is_ok and is_written and not asked.left_out else EXIT_NOT_OK


def _need_json(need: Need) -> dict[str, object]:
    tensors = dict(need.tensor_bytes)
    return {"dims": dict(need.dims), "tensor_bytes": tensors, "sets": need.sets, "total_bytes": need.total_bytes}


def _write(arguments: argparse.Namespace, asked: Sweep, measured: Measured) -> bool:
    is_csv_written = write_file(arguments.csv, csv_text(measured.rows)) if measured.rows else True
    if arguments.svg is None:
        return is_csv_written
    if not any(row.t_ns for row in measured.rows):
        say(f"{Path(arguments.svg)} was not written: nothing was timed")
        return False
    plot = sweep_svg(measured.rows, asked.problem, asked.plan.varying)
    return write_file(arguments.svg, plot) and is_csv_written
