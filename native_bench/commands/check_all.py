"""`check --all`: every starter kernel of an arch built and checked; CUDA ones compiled and dry-run."""

import argparse
import sys
from typing import Any

from native_bench.bench import Reporter
from native_bench.commands.options import EXIT_NOT_OK, EXIT_OK, EXIT_USAGE, options_of, print_json
from native_bench.host import native_arch
from native_bench.local_job import local_job
from native_bench.run import run_job
from native_bench.starter import is_cuda, kernels
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.names import KernelId


def check_all(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Return 0 when every kernel's verdict is ok, 1 when one is not, 2 for an arch without starter kernels."""
    arch = arguments.arch or native_arch()
    if arch != native_arch() and not is_cuda(arch):
        print(f"there are no starter kernels for {arch}: --arch takes {native_arch()} or sm_90", file=sys.stderr)
        return EXIT_USAGE
    found = [kernel_id for kernel_id, _ in kernels(arch)]
    checked = [_check(kernel_id, arguments, reporter) for kernel_id in found]
    if arguments.json:
        print_json({"kernels": checked})
    wrong = [kernel for kernel in checked if kernel["verdict"] != Verdict.OK]
    if not arguments.json:
        print(f"{len(found) - len(wrong)} of {len(found)} kernels are ok")
    return EXIT_NOT_OK if wrong else EXIT_OK


def _check(kernel_id: KernelId, arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    result = run_job(local_job(str(kernel_id), options_of(arguments)), reporter)
    if not arguments.json:
        words = f": {result['message']}" if result["message"] else ""
        print(f"{kernel_id} {result['verdict']}{words}", flush=True)
    return {"kernel_id": str(kernel_id), **result}
