"""What a compiler said, made fit for the entrant: no paths of ours, no lines of others' files, errors as data."""

import re
from dataclasses import asdict, dataclass
from typing import Any

SOURCE_ROOT = "/src/"
_LOG_BYTES = 16 * 1024
_MAX_ERRORS = 20

_DIAGNOSTIC = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<kind>[a-z ]*error|warning|note): "
)
_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<message>.*)$"
)
_LINKER = re.compile(r"(?:undefined reference to|multiple definition of) .*")
_QUOTED = re.compile(r"^\s*\d*\s*\|")
_TOOL_PATH = re.compile(r"/usr/\S*/(?=[\w.+-]+[:,\s])|/tmp/\S*/")


@dataclass(frozen=True)
class CompileError:
    """One error as an editor wants it; `line` is 0 where the linker speaks."""

    file: str
    line: int
    column: int
    message: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def readable_log(stderr: bytes) -> str:
    """Return the head of the compiler's output without our paths and without source lines of foreign files."""
    text = stderr.decode("utf-8", "replace").replace(SOURCE_ROOT, "")
    kept: list[str] = []
    is_own = True
    for line in text.splitlines():
        found = _DIAGNOSTIC.match(line)
        if found:
            is_own = not found["file"].startswith("/")
        if is_own or not _QUOTED.match(line):
            kept.append(_TOOL_PATH.sub("", line))
    log = "\n".join(kept)
    return log if len(log) <= _LOG_BYTES else log[:_LOG_BYTES] + "\n… (cut)"


def compile_errors(log: str) -> list[CompileError]:
    """Return the errors of a readable log, compiler's first, at most 20."""
    found = [
        CompileError(match["file"], int(match["line"]), int(match["column"] or 0), match["message"])
        for match in map(_ERROR.match, log.splitlines())
        if match
    ]
    if not found:
        linked = (_LINKER.search(line) for line in log.splitlines())
        found = [CompileError("", 0, 0, match.group(0)) for match in linked if match]
    return found[:_MAX_ERRORS]
