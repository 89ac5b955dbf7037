"""What the compiler said, made fit for the entrant: no paths of ours, no text of others' files, errors as data.

The compiler quotes no source; the lines shown are read from the package. The build marks what each program says,
because an assembler can be made to say anything, the text of a file that it reads included.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from submissions.kernel_package.files import Files

SOURCE_ROOT = "/src/"
GENERATED_ROOT = "/generated/"
COMPILE, ASSEMBLE, ASSEMBLE_UNSEEN, READ, LINK = "compile", "assemble", "assemble-unseen", "read", "link"
UNSEEN = "the assembler's messages are not shown: the assembly has macros, or names files"

_WORK_ROOT = "/tmp/"  # noqa: S108 - inside the sandbox, where only the build writes
_SYSTEM_HEADER = re.compile(r"/usr/(?:.*/)?include(?:-fixed)?/")
_LOG_BYTES = 16 * 1024
_LINE_CHARS = 160
MAX_ERRORS = 20

# As `-H` tells them: one line for each file when it is opened, and a list at the end.
_INCLUDED = re.compile(r"^\.+ (?P<file>.+)$", re.MULTILINE)
_GUARDS = "Multiple include guards may be useful for:"
_READ = re.compile(r"(?:\\ |[^\s\\])+")
_PLACE = re.compile(rf"^{SOURCE_ROOT}(?P<file>[^:]+):(?P<line>\d+):(?:(?P<column>\d+):)? [a-zA-Z]")
_QUOTED = re.compile(r"^\s*\d*\s*\|")
_PATH = re.compile(
    rf"(?<![\w./])(?:{SOURCE_ROOT}|{GENERATED_ROOT}|/usr/\S*/(?=[\w.+-]+[:,\s])|{_WORK_ROOT}(?:\S*/)?)"
)
_ASSEMBLY = re.compile(r"^\d+\.s:(?:\d+:)? ")
_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?:[Ff]atal )?[Ee]rror: (?P<message>.*)$"
)
_PLACELESS = re.compile(
    rf"inline assembly: (?:Fatal )?[Ee]rror: .*|{UNSEEN}|(?:undefined reference to|multiple definition of) .*"
)


@dataclass(frozen=True)
class Said:
    """What one program of the build wrote; `step` is empty before the first."""

    step: str
    text: str


@dataclass(frozen=True)
class CompileError:
    """One error as an editor wants it; `line` is 0 where assembler or linker speak."""

    file: str
    line: int
    column: int
    message: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def parted(stderr: bytes, mark: str) -> list[Said]:
    """Return what each program said, parted at the lines `<mark> <step>`."""
    head, *rest = re.split(rf"{mark} ([a-z-]+)\n", stderr.decode("utf-8", "replace"))
    return [Said("", head), *(Said(step, text) for step, text in zip(rest[::2], rest[1::2], strict=True))]


def foreign_files(said: Sequence[Said]) -> list[str]:
    """Return the files that were read and are neither the package's nor a header of the system, sorted."""
    read = {posixpath.join(_WORK_ROOT, path) for part in said for path in _files_read(part)}
    return sorted(path for path in map(posixpath.normpath, read) if not _is_known(path))


def _files_read(part: Said) -> list[str]:
    if part.step == COMPILE:
        return _INCLUDED.findall(part.text)
    if part.step == READ:
        _, _, paths = part.text.partition(": ")
        return [path.replace("\\ ", " ") for path in _READ.findall(paths)]
    return []


def _is_known(path: str) -> bool:
    return path.startswith((SOURCE_ROOT, GENERATED_ROOT, _WORK_ROOT)) or bool(_SYSTEM_HEADER.match(path))


def readable_log(said: Sequence[Said], files: Files) -> str:
    """Return the head of what was said, with the lines of the package's `files` that it is about."""
    sources = Sources(files)
    return head(line for part in said for line in _lines(part, sources))


def head(lines: Iterable[str]) -> str:
    """Return as much of the lines as a log may hold."""
    kept: list[str] = []
    room = _LOG_BYTES
    for line in lines:
        if len(line) >= room:
            return "\n".join([*kept, line[:room], "… (cut)"])
        kept.append(line)
        room -= len(line) + 1
    return "\n".join(kept)


class Sources:
    """The package's files by lines."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._lines: dict[str, list[bytes]] = {}

    def quoted(self, path: str, line: int, column: int) -> Iterator[str]:
        """Yield the line with its number, and a caret under the column; nothing where there is no such line."""
        if path not in self._lines:
            self._lines[path] = self._files.get(path, b"").split(b"\n")
        if not 0 < line <= len(self._lines[path]):
            return
        text = self._lines[path][line - 1][: 4 * _LINE_CHARS].decode("utf-8", "replace").rstrip()
        yield f"{line:5} | {text.expandtabs(8)[:_LINE_CHARS]}"
        if 0 < column <= _LINE_CHARS:
            yield f"      | {' ' * (column - 1)}^"


def _lines(part: Said, sources: Sources) -> Iterator[str]:
    if part.step == COMPILE:
        yield from _with_sources(_compiler_lines(part.text), sources)
    elif part.step == ASSEMBLE:
        yield from _with_sources(_assembler_lines(part.text), sources)
    elif part.step == ASSEMBLE_UNSEEN and part.text:
        yield UNSEEN
    elif part.step in (LINK, ""):
        yield from map(_without_paths, part.text.splitlines())


def _compiler_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line == _GUARDS:
            return
        if not _INCLUDED.match(line) and not _QUOTED.match(line):
            yield line


def _assembler_lines(text: str) -> Iterator[str]:
    lines = (line for line in text.splitlines() if not line.endswith(": Assembler messages:"))
    return (_ASSEMBLY.sub("inline assembly: ", line) for line in lines)


def _with_sources(lines: Iterator[str], sources: Sources) -> Iterator[str]:
    for line in lines:
        yield _without_paths(line)
        place = _PLACE.match(line)
        if place:
            yield from sources.quoted(place["file"], int(place["line"]), int(place["column"] or 0))


def _without_paths(line: str) -> str:
    return _PATH.sub("", line)


def compile_errors(log: str) -> list[CompileError]:
    """Return the errors of a readable log, compiler's first, at most 20."""
    found = [
        CompileError(match["file"], int(match["line"]), int(match["column"] or 0), match["message"])
        for match in map(_ERROR.match, log.splitlines())
        if match
    ]
    if not found:
        placeless = (_PLACELESS.search(line) for line in log.splitlines())
        found = [CompileError("", 0, 0, match.group(0)) for match in placeless if match]
    return found[:MAX_ERRORS]
