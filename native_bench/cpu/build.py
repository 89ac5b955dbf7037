"""Build a kernel: compiled in the sandbox with the fixed flags, found again by content."""

import json
import platform
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from native_bench.cache import ContentCache, digest_of
from native_bench.cpu.compile_log import compile_errors, readable_log
from native_bench.cpu.flags import COMPILE_FLAGS, EXPORTS_MAP, EXPORTS_PATH, LINK_FLAGS, WRAPPER_PATH
from native_bench.cpu.inspect import StaticReport, inspect_library
from native_bench.cpu.wrapper import wrapper_source
from native_bench.host import compiler_version, cpu_model
from native_bench.outcome import RunEnded, infra
from native_bench.sandbox.interface import Bind, Exit, Limits, Sandbox
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.description import Description
from submissions.kernel_package.files import PACKAGE_FOLDER, Files
from submissions.kernel_package.problem import Problem

LIBRARY_NAME = "kernel.so"
_META_NAME = "build.json"
_SECONDS = 30.0
_LIBRARY_BYTES = 64 << 20
_LIMITS = Limits(
    wall_seconds=_SECONDS,
    cpu_seconds=_SECONDS,
    memory_bytes=2 << 30,
    processes=16,
    file_bytes=_LIBRARY_BYTES,
    output_bytes=_LIBRARY_BYTES + (1 << 20),
    tmp_bytes=192 << 20,
)
# The compiler writes on stderr only, so that stdout carries the library and nothing else.
_SCRIPT = 'g++ "$@" -o /tmp/kernel.so >&2 && exec cat /tmp/kernel.so'


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
    sources = build_sources(kernel)
    key = _key(kernel, sources)
    folder = cache.get(key)
    if folder is not None:
        return _library(folder, was_cached=True)
    with _on_disk(sources) as source_folder:
        argv = ["/bin/sh", "-c", _SCRIPT, "g++", *_arguments(kernel.description)]
        ended = sandbox.run(argv, _LIMITS, (Bind(source_folder, "/src"),), env=_environment())
    log = readable_log(ended.stderr)
    _check(ended, log)
    report = inspect_library(ended.stdout, sandbox)
    meta = {"log": log, "report": report.as_json()}
    folder = cache.put(key, {LIBRARY_NAME: ended.stdout, _META_NAME: json.dumps(meta).encode()})
    return _library(folder, was_cached=False)


def build_sources(kernel: Kernel) -> dict[str, bytes]:
    """Return what the compiler sees: the package's files without its own folder, and our wrapper."""
    own = {path: data for path, data in kernel.files.items() if not path.startswith(f"{PACKAGE_FOLDER}/")}
    wrapper = wrapper_source(kernel.problem, kernel.description.entry_symbol)
    return {**own, WRAPPER_PATH: wrapper, EXPORTS_PATH: EXPORTS_MAP}


def _arguments(description: Description) -> list[str]:
    arguments = list(COMPILE_FLAGS)
    arguments += [f"-I/src/{folder}" for folder in description.include_dirs]
    arguments += [f"-D{name}={value}" for name, value in sorted(description.defines.items())]
    arguments += [f"/src/{path}" for path in (*description.sources, WRAPPER_PATH)]
    return arguments + list(LINK_FLAGS)


def _environment() -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "LANG": "C", "TMPDIR": "/tmp", "SOURCE_DATE_EPOCH": "0"}  # noqa: S108


def _key(kernel: Kernel, sources: Mapping[str, bytes]) -> str:
    # -march=native makes the processor a part of the toolchain.
    toolchain = "\n".join((compiler_version(), platform.machine(), cpu_model(), *_arguments(kernel.description)))
    flat = [part for path in sorted(sources) for part in (path.encode(), sources[path])]
    return digest_of(b"library 1", toolchain.encode(), *flat)


@contextmanager
def _on_disk(sources: Mapping[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="zoo-src-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for path, content in sources.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        yield folder


def _check(ended: Exit, log: str) -> None:
    """Raise unless the compiler has ended well."""
    details = _details(log)
    if ended.status == "timed_out" or ended.signal in ("SIGXCPU", "SIGKILL"):
        raise RunEnded(
            Verdict.TIMED_OUT, "build:timed-out", f"the compiler took more than {_SECONDS:.0f} s",
            limit=f"{_SECONDS:.0f} s", **details,
        )  # fmt: skip
    if ended.status == "out_of_memory":
        raise RunEnded(
            Verdict.OUT_OF_MEMORY, "build:out-of-memory", "the compiler took more than 2 GiB",
            limit="2 GiB", **details,
        )  # fmt: skip
    if ended.status == "setup_failed":
        raise infra("build:sandbox", f"the compiler could not be started: {log[-500:]}")
    if ended.status == "output_flood" or len(ended.stdout) > _LIBRARY_BYTES:
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
    place = f"{first.file}:{first.line}:{first.column}: " if first.file else ""
    return f"{place}{first.message}"


def _library(folder: Path, was_cached: bool) -> Library:
    meta = json.loads((folder / _META_NAME).read_bytes())
    report = StaticReport.from_json(meta["report"])
    return Library(folder / LIBRARY_NAME, meta["log"], report, was_cached)
