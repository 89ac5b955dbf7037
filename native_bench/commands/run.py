"""`run` and `check`: one kernel, against its board's baseline or for correctness alone."""

import argparse
import sys

from native_bench.bench import Reporter
from native_bench.commands.options import EXIT_NOT_OK, EXIT_OK, EXIT_USAGE, options_of, print_json
from native_bench.figures import figures_of
from native_bench.local_job import local_job
from native_bench.run import run_job
from native_bench.table import result_text
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.errors import ZooError


def add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", help="a starter kernel's id, or the folder of a package")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Return 0 only for verdict ok, 1 for any other, 2 for what is no kernel."""
    try:
        job = local_job(arguments.kernel, options_of(arguments))
    except ZooError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    result = run_job(job, reporter)
    kernel_id = str(job.candidate.description.kernel_id)
    if arguments.json:
        baseline = str((job.baseline or job.candidate).description.kernel_id)
        rows = figures_of(kernel_id, baseline, job.problem, result) if job.is_timed else []
        named = {"kernel_id": kernel_id, "problem_version": job.problem.version}
        print_json({**named, **result, "rows": [row.as_json() for row in rows]})
    else:
        print(result_text(kernel_id, result, job.problem.weights))
    return EXIT_OK if result["verdict"] == Verdict.OK else EXIT_NOT_OK
