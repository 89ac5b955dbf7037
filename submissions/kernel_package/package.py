"""A package as a whole: archive, description and the rules that bind them, first without then with its board."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from submissions.kernel_package.archive import read_archive
from submissions.kernel_package.description import Description, parse_description
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import (
    BENCH_RESULT_PATH,
    DESCRIPTION_PATH,
    GRADER_PATHS,
    PACKAGE_FOLDER,
    Files,
    check_reserved,
)
from submissions.kernel_package.grader import check_grader, generated_scripts
from submissions.kernel_package.launches import check_launches
from submissions.kernel_package.limits import DEFAULT_LIMITS, PackageLimits
from submissions.kernel_package.names import BoardId, KernelId, ProblemId
from submissions.kernel_package.problem import Problem

CPU_ARCHS = ("x86_64", "aarch64")


@dataclass(frozen=True)
class Package:
    """A checked package: `files` has the grader's scripts and no bench_result.yaml; `digest` names just these."""

    kernel_id: KernelId
    description: Description
    files: Mapping[str, bytes] = field(repr=False)
    digest: str


def read_package(data: bytes, kernel_id: KernelId, limits: PackageLimits = DEFAULT_LIMITS) -> Package:
    """Return the package in a tar.gz, checked as far as it goes without its board; raises Rejected."""
    return check_package(read_archive(data, limits), kernel_id)


def check_package(files: Files, kernel_id: KernelId) -> Package:
    """Return the package of these files, checked as far as it goes without its board; raises Rejected."""
    description = _description(files)
    _check_own_folder(files)
    check_reserved(files)
    if description.kernel_id != kernel_id:
        raise Rejected(
            "package:kernel-id-mismatch",
            f"{DESCRIPTION_PATH} says {description.kernel_id}, the submission is for {kernel_id}",
            described=str(description.kernel_id),
            submitted=str(kernel_id),
        )
    _check_arch(description)
    _check_sources(files, description)
    kept = {path: content for path, content in files.items() if path != BENCH_RESULT_PATH}
    return _with_scripts(Package(kernel_id, description, kept, ""), _own_scripts(description))


def described_kernel_id(files: Files) -> KernelId:
    """Return the kernel_id that the package's own desc.yaml gives; raises Rejected."""
    return _description(files).kernel_id


def _description(files: Files) -> Description:
    if DESCRIPTION_PATH not in files:
        raise Rejected("package:missing-description", f"the package has no {DESCRIPTION_PATH}")
    return parse_description(files[DESCRIPTION_PATH])


def check_board(package: Package, problem: Problem | None, baseline: Files | None = None) -> Package:
    """Return the package completed by its board; raises Rejected `package:{unknown-problem,harness,launch,…}`.

    `baseline` are the files of the board's reference_impl: its description says which harness the board takes,
    its two scripts grade `harness: script`.
    """
    if problem is None:
        raise unknown_problem(package.kernel_id.problem)
    _check_harness(package, baseline or {})
    if package.description.harness == "rawkernel":
        check_launches(package.description, problem)
    if package.description.harness != "script":
        return package
    return _with_scripts(package, baseline)


def _check_harness(package: Package, baseline: Files) -> None:
    board, sent, taken = package.kernel_id.board, package.description.harness, _harness_of(baseline)
    if taken not in (None, sent):
        message = f"the board {board} takes harness {taken}, not {sent}"
        raise Rejected("package:harness", message, harness=sent, takes=taken)
    if sent == "script" and any(path not in baseline for path in GRADER_PATHS):
        raise Rejected("package:harness", f"the board {board} takes no script packages", harness=sent)


def _harness_of(baseline: Files) -> str | None:
    try:
        return _description(baseline).harness
    except Rejected:
        # A maintainer's fault: this package is not to be refused for it.
        return None


def unknown_problem(problem_id: ProblemId) -> Rejected:
    """Return the error for a kernel_id whose problem does not exist."""
    message = f"there is no problem {problem_id}: GET /api/problems lists them"
    return Rejected("package:unknown-problem", message, problem=str(problem_id))


def unknown_board(board_id: BoardId) -> Rejected:
    """Return the error for a problem that has no baseline on the arch asked for."""
    message = f"the problem {board_id.problem} has no board on {board_id.arch}: GET /api/problems lists them"
    return Rejected("package:unknown-board", message, board=str(board_id))


def _own_scripts(description: Description) -> Files | None:
    return None if description.harness == "script" else generated_scripts(description.kernel_id)


def _with_scripts(package: Package, scripts: Files | None) -> Package:
    files = dict(package.files)
    if scripts is not None:
        check_grader(files, scripts)
        files |= {path: scripts[path] for path in GRADER_PATHS}
    return replace(package, files=files, digest=tree_digest(files))


def _check_own_folder(files: Files) -> None:
    allowed = (DESCRIPTION_PATH, BENCH_RESULT_PATH, *GRADER_PATHS)
    for path in sorted(files):
        if path.startswith(f"{PACKAGE_FOLDER}/") and path not in allowed:
            raise Rejected("package:unknown-file", f"{path}: {PACKAGE_FOLDER} holds only its own files; use src/")


def _check_arch(description: Description) -> None:
    arch = description.kernel_id.arch
    fits = {"native": arch in CPU_ARCHS, "rawkernel": arch.startswith("sm_")}.get(description.harness, True)
    if not fits:
        raise Rejected(
            "package:harness",
            f"harness {description.harness!r} does not run on {arch!r}: "
            "native is for x86_64 and aarch64, rawkernel for sm_*",
            harness=description.harness,
            arch=arch,
        )


def _check_sources(files: Files, description: Description) -> None:
    if description.entry_source not in files:
        raise Rejected(
            "package:entry-missing", f"the entry source {description.entry_source} is not in the package"
        )
    for path in description.sources:
        if path not in files:
            raise Rejected("package:source-missing", f"{path} of build.sources is not in the package", path=path)
    if description.entry_source not in description.sources:
        raise Rejected("package:entry-missing", f"{description.entry_source} is not among build.sources")
    for folder in description.include_dirs:
        if folder != "." and not any(path.startswith(f"{folder}/") for path in files):
            raise Rejected("package:source-missing", f"{folder} of build.include_dirs has no file", path=folder)
    for name in _entry_names(description):
        if not _is_named(name, files):
            raise Rejected("package:entry-missing", f"no source names {name!r}, the entry", symbol=name)


def _entry_names(description: Description) -> list[str]:
    if description.harness == "native":
        return [description.entry_symbol]
    return sorted({re.split(r"[<:]", launch.kernel.split("<")[0])[-1] for launch in description.launches})


def _is_named(name: str, files: Files) -> bool:
    word = re.compile(rb"\b%s\b" % name.encode())
    return any(word.search(content) for path, content in files.items() if not path.startswith(PACKAGE_FOLDER))
