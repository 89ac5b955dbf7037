"""Build a kernel: compiled in the sandbox with the fixed flags, found again by content."""

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from native_bench.cache import ContentCache, digest_of
from native_bench.cpu.compile import LIBRARY_BYTES, SECONDS, Folders, command, run_compiler
from native_bench.cpu.compile_log import (
    GENERATED_ROOT,
    SOURCE_ROOT,
    Said,
    compile_errors,
    foreign_files,
    readable_log,
)
from native_bench.cpu.flags import EXPORTS_MAP, EXPORTS_NAME, WRAPPER_NAME
from native_bench.cpu.inspect import StaticReport, inspect_library
from native_bench.cpu.wrapper import wrapper_source
from native_bench.host import compiler_version, cpu_model
from native_bench.outcome import RunEnded, infra
from native_bench.sandbox.interface import Exit, Sandbox
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.description import Description
from submissions.kernel_package.files import PACKAGE_FOLDER, Files
from submissions.kernel_package.problem import Problem

LIBRARY_NAME = "kernel.so"
_META_NAME = "build.json"


@dataclass(frozen=True)
class Kernel:
    """What is built: one contestant's description and files, for one problem."""

    description: Description
    files: Files
    problem: Problem


@dataclass(frozen=True)
class Library:
    """A built contestant: where it lies, what the compiler said, what the inspection found."""

    path: Path
    log: str
    report: StaticReport
    was_cached: bool


def build(kernel: Kernel, sandbox: Sandbox, cache: ContentCache) -> Library:
    """Return the built library; raises RunEnded build_failed, timed_out, out_of_memory or infra_error."""
    folders = _folders(kernel)
    key = _key(kernel, folders)
    folder = cache.get(key)
    if folder is not None:
        return _library(folder, was_cached=True)
    compiled = run_compiler(kernel.description, folders, sandbox)
    _refuse_foreign(compiled.said)
    log = readable_log(compiled.said, kernel.files)
    _check(compiled.ended, log)
    report = inspect_library(compiled.ended.stdout, sandbox)
    meta = {"log": log, "report": report.as_json()}
    folder = cache.put(key, {LIBRARY_NAME: compiled.ended.stdout, _META_NAME: json.dumps(meta).encode()})
    return _library(folder, was_cached=False)


def _folders(kernel: Kernel) -> Folders:
    """Return what the compiler sees: the package's files without its own folder, and apart from them ours."""
    own = {path: data for path, data in kernel.files.items() if not path.startswith(f"{PACKAGE_FOLDER}/")}
    wrapper = wrapper_source(kernel.problem, kernel.description.entry_symbol)
    return {SOURCE_ROOT: own, GENERATED_ROOT: {WRAPPER_NAME: wrapper, EXPORTS_NAME: EXPORTS_MAP}}


def _key(kernel: Kernel, folders: Folders) -> str:
    # -march=native makes the processor a part of the toolchain.
    machine = (compiler_version(), platform.machine(), cpu_model())
    toolchain = "\n".join((*machine, *command(kernel.description)))
    files = {root + path: content for root, folder in folders.items() for path, content in folder.items()}
    flat = [part for path in sorted(files) for part in (path.encode(), files[path])]
    # The number goes up when the inspection changes: its report lies beside the library.
    return digest_of(b"library 2", toolchain.encode(), *flat)


def _refuse_foreign(said: Sequence[Said]) -> None:
    """Raise where a source has read what is not its own: by its values, too, it could tell what is in there."""
    foreign = ", ".join(foreign_files(said)[:3])[:200]
    if foreign:
        message = f"the source reads {foreign}: include only the package's files and the system's headers"
        raise RunEnded(Verdict.BUILD_FAILED, "build:foreign-file", message, compile_log=message, compile_errors=[])


def _check(ended: Exit, log: str) -> None:
    """Raise unless the compiler has ended well."""
    details = _details(log)
    if ended.status == "timed_out" or ended.signal in ("SIGXCPU", "SIGKILL"):
        raise RunEnded(
            Verdict.TIMED_OUT, "build:timed-out", f"the compiler took more than {SECONDS:.0f} s",
            limit=f"{SECONDS:.0f} s", **details,
        )  # fmt: skip
    if ended.status == "out_of_memory":
        raise RunEnded(
            Verdict.OUT_OF_MEMORY, "build:out-of-memory", "the compiler took more than 2 GiB",
            limit="2 GiB", **details,
        )  # fmt: skip
    if ended.status == "setup_failed":
        raise infra("build:sandbox", f"the compiler could not be started: {log[-500:]}")
    if ended.status == "output_flood" or len(ended.stdout) > LIBRARY_BYTES:
        raise RunEnded(Verdict.BUILD_FAILED, "build:too-large", "the library is larger than 64 MiB", **details)
    if not ended.is_ok or not ended.stdout:
        raise RunEnded(Verdict.BUILD_FAILED, "build:compile-error", _first_error(log), **details)


def _details(log: str) -> dict[str, Any]:
    return {"compile_log": log, "compile_errors": [error.as_json() for error in compile_errors(log)]}


def _first_error(log: str) -> str:
    errors = compile_errors(log)
    if not errors:
        return "the compiler gave up: see the log"
    first = errors[0]
    place = [first.file, *(str(number) for number in (first.line, first.column) if number)] if first.file else []
    return ": ".join(filter(None, (":".join(place), first.message)))


def _library(folder: Path, was_cached: bool) -> Library:
    meta = json.loads((folder / _META_NAME).read_bytes())
    report = StaticReport.from_json(meta["report"])
    return Library(folder / LIBRARY_NAME, meta["log"], report, was_cached)
