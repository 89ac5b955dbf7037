"""`kernel_zoo-validate-package`: check a package before it is sent, with the rules the site uses."""

import argparse
import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from submissions.kernel_package.archive import read_archive
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import DESCRIPTION_PATH, GRADER_PATHS, Files
from submissions.kernel_package.folder import read_folder
from submissions.kernel_package.limits import DEFAULT_LIMITS
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.package import (
    CPU_ARCHS,
    Package,
    check_board,
    check_package,
    described_kernel_id,
    unknown_problem,
)
from submissions.kernel_package.problem import Problem, parse_problem

VALID, REJECTED, USAGE = 0, 1, 2
_EPILOG = """exit status: 0 valid, 1 rejected (the code and what to do are printed), 2 wrong usage.

Make an archive from within the kernel's folder: tar -czf package.tar.gz .kernel_package src
The site may know problems that are not here: --problems names a checkout's `problems` folder."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    path: Path = arguments.path
    if not path.exists():
        print(f"{path}: no such file or folder", file=sys.stderr)
        return USAGE
    if arguments.problems is not None and not arguments.problems.is_dir():
        print(f"--problems {arguments.problems}: no such folder", file=sys.stderr)
        return USAGE
    try:
        package, problem = _validate(path, arguments.kernel_id, arguments.problems or _starter_problems())
    except Rejected as fault:
        _print_rejected(fault, arguments.json)
        return REJECTED
    _print_valid(package, problem, arguments.json)
    return VALID


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernel_zoo-validate-package",
        description="Check a kernel package with the rules the site uses; nothing is built or run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", type=Path, help="a .tar.gz, or the kernel's folder")
    parser.add_argument(
        "--kernel-id", help="<arch>/<op_class>/<sub_class>/<quant>/<name>; default: as desc.yaml says"
    )
    parser.add_argument("--problems", type=Path, metavar="DIR", help="where <op>/<sub>/<quant>/problem.yaml are")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _starter_problems() -> Path | None:
    spec = find_spec("native_bench")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "problems"


def _validate(path: Path, kernel_id: str | None, problems: Path | None) -> tuple[Package, Problem]:
    files = _read(path)
    wanted = KernelId.parse(kernel_id) if kernel_id else described_kernel_id(files)
    package = check_package(files, wanted)
    problem = _problem(problems, wanted.problem)
    return check_board(package, problem, _baseline(problems, wanted)), problem


def _read(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        return read_folder(path)
    with path.open("rb") as stream:
        return read_archive(stream.read(DEFAULT_LIMITS.packed_bytes + 1))


def _problem(problems: Path | None, problem_id: ProblemId) -> Problem:
    path = problems / str(problem_id) / "problem.yaml" if problems else None
    if path is None or not path.is_file():
        raise unknown_problem(problem_id)
    return parse_problem(path.read_bytes(), problem_id)


def _baseline(problems: Path | None, kernel_id: KernelId) -> Files | None:
    """Return what binds packages in a store's baseline, or in the starter zoo's; None where there is none."""
    if problems is None:
        return None
    folders = [problems.parent / str(kernel_id.board.baseline)]
    if kernel_id.arch in CPU_ARCHS:
        folders.append(problems / str(kernel_id.problem) / "kernels" / kernel_id.board.baseline.name)
    for folder in folders:
        paths = [path for path in (DESCRIPTION_PATH, *GRADER_PATHS) if (folder / path).is_file()]
        if paths:
            return {path: (folder / path).read_bytes() for path in paths}
    return None


def _print_rejected(fault: Rejected, as_json: bool) -> None:
    if as_json:
        answer = {"valid": False, "code": fault.code, "message": fault.message, "details": dict(fault.details)}
        print(json.dumps(answer, indent=2, default=str))
    else:
        print(f"{fault.code}: {fault.message}")


def _print_valid(package: Package, problem: Problem, as_json: bool) -> None:
    size = sum(len(content) for content in package.files.values())
    if as_json:
        answer = {
            "valid": True,
            "kernel_id": str(package.kernel_id),
            "harness": package.description.harness,
            "problem_version": problem.version,
            "digest": package.digest,
            "bytes": size,
            "files": sorted(package.files),
        }
        print(json.dumps(answer, indent=2))
    else:
        print(f"valid: {package.kernel_id} ({package.description.harness}, problem version {problem.version})")
        print(f"{len(package.files)} files, {size} bytes, digest {package.digest}")


if __name__ == "__main__":
    sys.exit(main())
