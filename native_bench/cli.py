"""The command line of the engine: run, check and list kernels, prove problems; `execute` serves the daemon."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from native_bench.calibrate import calibrate
from native_bench.contract import find_problems
from native_bench.execute import execute
from native_bench.host import native_arch
from native_bench.local_job import Options, local_job
from native_bench.proof_table import last_line, proof_text, proofs_json
from native_bench.run import run_job
from native_bench.sandbox.interface import SandboxMissing
from native_bench.starter import kernels
from native_bench.table import result_text
from native_bench.verify import open_prover, verify_problem
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.errors import ZooError

EXIT_OK, EXIT_NOT_OK, EXIT_USAGE = 0, 1, 2


class TerminalReporter:
    """Tells on stderr which stage runs."""

    def stage(self, name: str) -> None:
        print(f"{name} …", file=sys.stderr, flush=True)

    def progress(self, fraction: float) -> None:
        if sys.stderr.isatty():
            print(f"  {100 * fraction:.0f} %", end="\r", file=sys.stderr, flush=True)

    def log(self, text: str) -> None:
        print(text, file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 only for verdict ok, 1 for any other, 2 for a wrong call."""
    arguments = _parser().parse_args(argv)
    if arguments.verb == "list":
        return _list(arguments.json)
    if arguments.verb == "execute":
        return execute(arguments.folder, sys.stdin.buffer, sys.stdout.buffer)
    if arguments.verb == "verify-problem":
        return _verify(arguments)
    if arguments.verb == "calibrate":
        return calibrate(arguments.cache_dir.absolute(), arguments.json, TerminalReporter())
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    mode = "check" if arguments.verb == "check" else arguments.mode
    options = Options(
        mode,
        arguments.cache_dir.absolute(),
        arguments.problems,
        arguments.backend,
        getattr(arguments, "processes", None),
    )
    try:
        job = local_job(arguments.kernel, options)
    except ZooError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    result = run_job(job, TerminalReporter())
    if arguments.json:
        print(json.dumps(result, indent=1))
    else:
        print(result_text(str(job.candidate.description.kernel_id), result, job.problem.weights))
    return EXIT_OK if result["verdict"] == Verdict.OK else EXIT_NOT_OK


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
    names = [str(kernel_id) for kernel_id, _ in kernels(native_arch())]
    print(json.dumps({"kernels": names}) if as_json else "\n".join(names))
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="native_bench", description="Build, check and time native kernels.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="build, check and time a kernel against its baseline")
    check = verbs.add_parser("check", help="build and check a kernel, time nothing")
    for verb in (run, check):
        verb.add_argument("kernel", help="a starter kernel's id, or the folder of a package")
        verb.add_argument("--json", action="store_true", help="print the result as JSON")
        verb.add_argument("--cache-dir", type=Path, default=Path("var/native_bench"), help="where builds are kept")
        verb.add_argument("--problems", type=Path, help="a folder of problems, instead of the starter zoo")
        verb.add_argument("--backend", default="bwrap", help="how submitted code is isolated")
    run.add_argument("--mode", choices=("ranked", "benchmark"), default="ranked")
    run.add_argument("--processes", type=int, help="sets of fresh processes (default: 5 ranked, 3 benchmark)")
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
