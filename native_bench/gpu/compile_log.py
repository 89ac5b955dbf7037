"""What NVRTC said, made fit for the entrant: no paths of ours, no text of others' files, errors as data.

The compiler is told to quote no source; the lines shown are read from the package.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from native_bench.cpu.compile_log import MAX_ERRORS, SOURCE_ROOT, CompileError, Sources, head
from submissions.kernel_package.files import Files

CUDA_ROOT = "/cuda/"
# Where NVRTC says that it reads the names of kernels.
NAME_MAP = "__nv_name_map"

_PLACED = re.compile(r"(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?P<rest>.*)")
_SEVERE = re.compile(r"(?:catastrophic |internal |command-line )?error(?: [#\w-]+)?: (?P<message>.*)")
_PTXAS_FACT = re.compile(r"ptxas (?:info +:|[ .]+[\d'])|^ +\d+ bytes stack frame")
_PTXAS_ERROR = re.compile(r"ptxas .*?(?:error|fatal) +: (?P<message>.*)")
_OPTION_ERROR = re.compile(r"nvrtc: error: (?P<message>.*)")
_INCLUDE_ROOT = rf"{CUDA_ROOT}include\d/"
_PATH = re.compile(rf"(?<![\w./])(?:{SOURCE_ROOT}(?:\./)?|{_INCLUDE_ROOT}|/zoo/(?:[\w.+-]+/)*)")


@dataclass(frozen=True)
class NvrtcLog:
    """The log for the entrant, its errors as data, and apart from both what ptxas tells of each kernel."""

    text: str
    errors: tuple[CompileError, ...]
    ptxas: str
    foreign: tuple[str, ...]


def read_log(log: str, files: Files) -> NvrtcLog:
    """Take NVRTC's log apart; `foreign` are files with messages that are neither the package's nor CUDA's."""
    facts = "\n".join(line for line in log.splitlines() if _PTXAS_FACT.match(line))
    lines = [line for line in log.splitlines() if line.strip() and not _PTXAS_FACT.match(line)]
    errors = [error for line in lines for error in _errors(line)]
    foreign = sorted({path for line in lines for path in _foreign(line)})
    return NvrtcLog(head(_shown(lines, Sources(files))), tuple(errors[:MAX_ERRORS]), facts, tuple(foreign))


def _shown(lines: list[str], sources: Sources) -> Iterator[str]:
    for line in lines:
        placed = _PLACED.match(line)
        if placed is None:
            yield _without_paths(line)
            continue
        path, number = _own_path(placed["file"]), int(placed["line"])
        yield f"{path}:{number}: {_without_paths(placed['rest'])}"
        yield from sources.quoted(path, number, 0)


def _errors(line: str) -> Iterator[CompileError]:
    placed = _PLACED.match(line)
    if placed is not None:
        severe = _SEVERE.match(placed["rest"])
        if severe is not None:
            message = _without_paths(severe["message"])
            yield CompileError(_own_path(placed["file"]), int(placed["line"]), 0, message)
        return
    placeless = _PTXAS_ERROR.match(line) or _OPTION_ERROR.match(line) or _SEVERE.match(line)
    if placeless is not None:
        yield CompileError("", 0, 0, _without_paths(placeless["message"]))


def _foreign(line: str) -> Iterator[str]:
    placed = _PLACED.match(line)
    if placed is not None and placed["file"].startswith("/"):
        path = posixpath.normpath(placed["file"])
        if not path.startswith((SOURCE_ROOT, CUDA_ROOT)):
            yield path


def _own_path(path: str) -> str:
    """Return a path as the package has it; it may lead through an include folder, and back out of it."""
    return _without_paths(posixpath.normpath(path))


def _without_paths(text: str) -> str:
    return _PATH.sub("", text)
