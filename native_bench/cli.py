"""The command line of the engine: its verbs and their options; `execute` serves the daemon."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from native_bench.calibrate import calibrate
from native_bench.commands import check_all, compare, report, run, sweep
from native_bench.commands.options import (
    EXIT_INTERRUPTED,
    EXIT_NOT_OK,
    EXIT_OK,
    EXIT_USAGE,
    add_common,
    add_measuring,
)
from native_bench.contract import find_problems
from native_bench.execute import execute
from native_bench.host import native_arch
from native_bench.proof_table import last_line, proof_text, proofs_json
from native_bench.sandbox.interface import SandboxMissing
from native_bench.starter import kernels
from native_bench.verify import open_prover, verify_problem
from submissions.kernel_package.errors import ZooError
from submissions.kernel_package.kernelbench import alias_of


class TerminalReporter:
    """Tells on stderr which stage runs."""

    def stage(self, name: str) -> None:
        print(f"{name} …", file=sys.stderr, flush=True)

    def progress(self, fraction: float) -> None:
        if sys.stderr.isatty():
            print(f"  {100 * fraction:.0f} %", end="\r", file=sys.stderr, flush=True)

    def log(self, text: str) -> None:
        print(text, file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """Refuses a wrong call in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 only for verdict ok, 1 for any other, 2 for a wrong call, 130 after Ctrl-C."""
    arguments = _parser().parse_args(argv)
    if arguments.verb == "execute":
        return execute(arguments.folder, sys.stdin.buffer, sys.stdout.buffer)
    try:
        return _serve(arguments)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return EXIT_INTERRUPTED


def _serve(arguments: argparse.Namespace) -> int:
    if arguments.verb == "list":
        return _list(arguments.json)
    if arguments.verb == "verify-problem":
        return _verify(arguments)
    if arguments.verb == "calibrate":
        return calibrate(arguments.cache_dir.absolute(), arguments.json, TerminalReporter())
    if arguments.verb == "compare":
        return compare.compare(arguments, TerminalReporter())
    if arguments.verb == "sweep":
        return sweep.sweep(arguments)
    if arguments.verb == "report":
        return report.report(arguments)
    if arguments.verb == "check" and arguments.all:
        return check_all.check_all(arguments, TerminalReporter())
    return run.run(arguments, TerminalReporter())


def _verify(arguments: argparse.Namespace) -> int:
    reporter = TerminalReporter()
    try:
        found = find_problems(arguments.problem, arguments.problems, arguments.all)
        sandbox = open_prover(arguments.backend)
    except (ZooError, SandboxMissing) as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    proofs = [verify_problem(problem_id, files, sandbox, reporter.stage) for problem_id, files in found]
    if arguments.json:
        print(json.dumps(proofs_json(proofs), indent=1))
    else:
        print("\n\n".join([*map(proof_text, proofs), last_line(proofs)]))
    return EXIT_OK if all(proof.holds for proof in proofs) else EXIT_NOT_OK


def _list(as_json: bool) -> int:
    """Name the kernels, and beside each what KernelBench calls its problem."""
    found = [kernel_id for kernel_id, _ in kernels(native_arch())]
    names = [str(kernel_id) for kernel_id in found]
    called = {str(one.problem): str(alias) for one in found if (alias := alias_of(one.problem)) is not None}
    if as_json:
        print(json.dumps({"kernels": names, "kernelbench": called}))
    else:
        width = max(map(len, names))
        for one in found:
            print(f"{one!s:{width}}  {called.get(str(one.problem), '')}".rstrip())
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="native_bench", description="Build, check and time native kernels.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    running = verbs.add_parser("run", help="build, check and time a kernel against its baseline")
    run.add_kernel(running)
    add_measuring(running, "ranked")
    check = verbs.add_parser("check", help="build and check a kernel, dry-run a CUDA one; time nothing")
    whom = check.add_mutually_exclusive_group(required=True)
    whom.add_argument("kernel", nargs="?", help="a starter kernel's id, or the folder of a package")
    whom.add_argument("--all", action="store_true", help="every starter kernel")
    check.add_argument("--arch", help="with --all: for which arch, such as sm_90 (default: this machine's)")
    add_common(check)
    compare.add_arguments(verbs.add_parser("compare", help="time two kernels of one problem against each other"))
    sweep.add_arguments(verbs.add_parser("sweep", help="time a kernel and its baseline at sizes of your choice"))
    report.add_arguments(verbs.add_parser("report", help="tabulate the starter kernels' figures, or kept ones"))
    verify = verbs.add_parser("verify-problem", help="prove a problem's tolerance: mutants fail, the honest pass")
    verify.add_argument("problem", nargs="*", help="a problem's id, such as GEMM/nn/fp32")
    verify.add_argument("--all", action="store_true", help="every starter problem")
    verify.add_argument("--problems", type=Path, help="a folder of problems, instead of the starter zoo")
    verify.add_argument("--json", action="store_true", help="print the result as JSON")
    verify.add_argument("--backend", default="bwrap", help="how reference.py is isolated")
    limits = verbs.add_parser("calibrate", help="measure what this machine can do at most")
    limits.add_argument("--json", action="store_true", help="print the limits as JSON")
    limits.add_argument("--cache-dir", type=Path, default=Path("var/native_bench"), help="where they are kept")
    listing = verbs.add_parser("list", help="name the starter kernels for this machine")
    listing.add_argument("--json", action="store_true")
    child = verbs.add_parser(
        "execute", help="run one job folder for a daemon: secrets on stdin, JSON lines on stdout"
    )
    child.add_argument("folder", type=Path)
    return parser
