"""`report`: one table of the starter kernels' figures, measured now, or of those in the files of earlier calls."""

import argparse
import sys
from collections.abc import Sequence
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
from native_bench.commands.series import Measured, Planned, measure_series, say
from native_bench.contract import find_problems
from native_bench.figures import Figures, csv_text, read_figures
from native_bench.figures_table import figures_text
from native_bench.host import native_arch
from native_bench.local_job import Options, local_job
from native_bench.plot import Axis, Bar, interval_chart
from native_bench.starter import kernels
from submissions.kernel_package.errors import Rejected, ZooError
from submissions.kernel_package.names import KernelId, ProblemId


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="what a verb printed with --json (default: measure now)",
    )
    parser.add_argument("--problem", help="only the kernels of this problem, such as GEMM/nn/fp32")
    add_measuring(parser, "benchmark")
    add_files(parser)


def report(arguments: argparse.Namespace) -> int:
    """Return 0 when every kernel has its figures, 1 when one has not, 2 for a wrong call, 130 after Ctrl-C."""
    try:
        require_writable(arguments.csv, arguments.svg)
        problem_id = None if arguments.problem is None else ProblemId.parse(arguments.problem)
        if arguments.files:
            measured = Measured(_read(arguments.files, problem_id))
        else:
            measured = measure_series(_planned(problem_id, options_of(arguments)))
    except ZooError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    return _tell(arguments, measured)


def speedup_svg(rows: Sequence[Figures]) -> str:
    """Return a chart of the rows' speed-ups; raises ValueError when there is none."""
    bars = [Bar(_label(row), row.speedup) for row in rows if row.speedup is not None]
    return interval_chart("Speed-up over the baseline", Axis("times as fast, with its 95 % interval", "×"), bars)


def _read(files: Sequence[Path], problem_id: ProblemId | None) -> list[Figures]:
    rows = [row for path in files for row in read_figures(path)]
    if problem_id is not None:
        rows = [row for row in rows if KernelId.parse(row.kernel_id).problem == problem_id]
    if not rows:
        wanted = "" if problem_id is None else f" of {problem_id}"
        raise Rejected("report:empty", f"there are no figures{wanted} in {', '.join(map(str, files))}")
    return rows


def _planned(problem_id: ProblemId | None, options: Options) -> list[Planned]:
    if problem_id is not None:
        find_problems([str(problem_id)], options.problems_dir)
    named = [kernel_id for kernel_id, _ in kernels(native_arch()) if problem_id in (None, kernel_id.problem)]
    if not named:
        raise Rejected("report:empty", f"{problem_id} has no starter kernels")
    return [Planned(str(kernel_id), local_job(str(kernel_id), options)) for kernel_id in named]


def _tell(arguments: argparse.Namespace, measured: Measured) -> int:
    rows = measured.rows
    if arguments.json:
        print_json({"is_complete": measured.is_complete, "rows": [row.as_json() for row in rows]})
    elif rows:
        print(figures_text(rows, with_kernel=True))
    is_written = write_file(arguments.csv, csv_text(rows))
    if arguments.svg is not None:
        is_written = _write_svg(arguments.svg, rows) and is_written
    if not measured.is_complete:
        return EXIT_INTERRUPTED
    return EXIT_OK if measured.is_ok and is_written else EXIT_NOT_OK


def _write_svg(path: Path, rows: Sequence[Figures]) -> bool:
    if all(row.speedup is None for row in rows):
        say(f"{path} was not written: nothing was timed")
        return False
    return write_file(path, speedup_svg(rows))


def _label(row: Figures) -> str:
    # The arch is the same everywhere.
    return f"{row.kernel_id.partition('/')[2]} {row.case}".strip()
