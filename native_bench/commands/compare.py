"""`compare A B`: time two kernels of one problem against each other in one sitting, and say which is faster."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from native_bench.bench import Reporter
from native_bench.commands.options import (
    EXIT_NOT_OK,
    EXIT_OK,
    EXIT_USAGE,
    add_measuring,
    options_of,
    print_json,
)
from native_bench.figures import Figures, figures_of
from native_bench.figures_table import figures_text
from native_bench.job import Job
from native_bench.local_job import compared_job, local_job
from native_bench.run import run_job
from native_bench.table import ratio_text, result_text
from submissions.evaluation.speedup import speedup_over
from submissions.evaluation.statistics import Interval
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.errors import ZooError

Outcome = Literal["faster", "slower", "level"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name in ("a", "b"):
        parser.add_argument(name, metavar=name.upper(), help="a starter kernel's id, or the folder of a package")
    add_measuring(parser, "ranked")


def compare(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Return 0 when both are correct and were timed, 1 when not, 2 for kernels that can't be compared."""
    options = options_of(arguments)
    try:
        job = compared_job(arguments.a, arguments.b, options)
        # A starter kernel is known to be right.
        b_check = local_job(arguments.b, replace(options, mode="check")) if Path(arguments.b).is_dir() else None
    except ZooError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    if b_check is not None:
        checked = run_job(b_check, reporter)
        if checked["verdict"] != Verdict.OK:
            return _tell_failure(arguments, arguments.b, b_check, checked)
    result = run_job(job, reporter)
    ratio = speedup_over(result["cases"], job.problem.weights, "baseline")
    if result["verdict"] != Verdict.OK or ratio is None:
        return _tell_failure(arguments, arguments.a, job, result)
    _tell(arguments, job, result, ratio)
    return EXIT_OK


def outcome_of(ratio: Interval) -> Outcome:
    """Say whether A is faster than B, when `ratio` is B's time over A's."""
    return "faster" if ratio.lo > 1 else "slower" if ratio.hi < 1 else "level"


def sentence(a: str, b: str, ratio: Interval, processes: int) -> str:
    """Return what may be said of A and B, and no more; `ratio` is B's time over A's."""
    sets = "1 set of processes" if processes == 1 else f"{processes} sets of processes"
    behind = f"{ratio_text(ratio)}, 95 % interval, {sets}"
    outcome = outcome_of(ratio)
    if outcome == "level":
        return f"{a} and {b} can't be told apart: B's time over A's is {behind}, which holds 1."
    if outcome == "faster":
        return f"{a} is faster than {b}: B's time over A's is {behind}."
    inverse = Interval(1 / ratio.value, 1 / ratio.hi, 1 / ratio.lo)
    return f"{a} is slower than {b}: A's time over B's is {ratio_text(inverse)}, 95 % interval, {sets}."


def _tell(arguments: argparse.Namespace, job: Job, result: Mapping[str, Any], ratio: Interval) -> None:
    rows = _rows(job, result)
    said = sentence(arguments.a, arguments.b, ratio, result["processes"])
    if arguments.json:
        told = {"verdict": result["verdict"], "outcome": outcome_of(ratio), "sentence": said}
        named = {"a": arguments.a, "b": arguments.b, "ratio": ratio.as_json()}
        print_json({**told, **named, **_parts(rows, result)})
    else:
        table = figures_text(rows, with_kernel=False, times=("time of A", "time of B"))
        print("\n".join([f"A: {arguments.a}", f"B: {arguments.b}", "", table, "", said]))


def _tell_failure(arguments: argparse.Namespace, name: str, job: Job, result: Mapping[str, Any]) -> int:
    if arguments.json:
        told = {"verdict": result["verdict"], "outcome": None, "failed": name, "a": arguments.a, "b": arguments.b}
        print_json({**told, **_parts(_rows(job, result), result)})
    else:
        print(result_text(name, result, job.problem.weights))
    return EXIT_NOT_OK


def _rows(job: Job, result: Mapping[str, Any]) -> list[Figures]:
    baseline = job.baseline or job.candidate
    names = [str(contestant.description.kernel_id) for contestant in (job.candidate, baseline)]
    return figures_of(names[0], names[1], job.problem, result)


def _parts(rows: Sequence[Figures], result: Mapping[str, Any]) -> dict[str, Any]:
    return {"rows": [row.as_json() for row in rows], "result": result}
