"""What the measuring verbs have in common: their options, their exit statuses, and the files they write."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from native_bench.local_job import Options
from submissions.kernel_package.errors import Rejected

EXIT_OK, EXIT_NOT_OK, EXIT_USAGE = 0, 1, 2
# As a shell tells of a program that Ctrl-C ended.
EXIT_INTERRUPTED = 130


def positive(text: str) -> int:
    """Read an option's number of at least 1; for argparse."""
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def add_measuring(parser: argparse.ArgumentParser, mode: str) -> None:
    """Add what every verb that times takes; `mode` is the default."""
    add_common(parser)
    parser.add_argument("--mode", choices=("ranked", "benchmark"), default=mode, help=f"default: {mode}")
    parser.add_argument(
        "--processes", type=positive, help="sets of fresh processes (default: 5 ranked, 3 benchmark)"
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add what every verb that builds a kernel takes."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--cache-dir", type=Path, default=Path("var/native_bench"), help="where builds are kept")
    parser.add_argument("--problems", type=Path, help="a folder of problems, instead of the starter zoo")
    parser.add_argument("--backend", default="bwrap", help="how submitted code is isolated")


def add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the rows as CSV")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a plot as SVG")


def options_of(arguments: argparse.Namespace) -> Options:
    mode = "check" if arguments.verb == "check" else arguments.mode
    processes = getattr(arguments, "processes", None)
    return Options(mode, arguments.cache_dir.absolute(), arguments.problems, arguments.backend, processes)


def require_writable(*paths: Path | None) -> None:
    """Raise Rejected for a file that could not be written once the measuring is done."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise Rejected("run:output", f"{path} can't be written: it is a folder, or its folder does not exist")


def write_file(path: Path | None, content: str) -> bool:
    """Write a file that was asked for; say on stderr why it can't be, and return whether all is well."""
    if path is None:
        return True
    try:
        path.write_text(content)
    except OSError as fault:
        print(f"{path} was not written: {fault.strerror}", file=sys.stderr)
        return False
    return True


def print_json(document: dict[str, Any]) -> None:
    print(json.dumps(document, indent=1, allow_nan=False))
