"""What helps an entrant after a failed run: compile errors beside their source line, the first wrong element."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ERRORS_SHOWN = 12


@dataclass(frozen=True)
class CompileError:
    """One diagnostic; `source` is the line it points at, empty where the file is not the entrant's."""

    place: str
    message: str
    source: str
    caret: str


@dataclass(frozen=True)
class EntrantHelp:
    """The parts of a run's details that a page shows; absent parts are empty."""

    compile_errors: tuple[CompileError, ...]
    compile_log: str
    first_wrong: tuple[tuple[str, str], ...]
    signal: str
    limit: str
    rest: tuple[tuple[str, Any], ...]

    def __bool__(self) -> bool:
        return bool(
            self.compile_errors or self.compile_log or self.first_wrong or self.signal or self.limit or self.rest
        )


def entrant_help(details: Mapping[str, Any], files: Mapping[str, bytes]) -> EntrantHelp:
    """Sort `details` into what a page shows; `files` are the submitted ones, for the source lines."""
    known = {"compile_errors", "compile_log", "first_wrong", "signal", "limit"}
    plain = {key: value for key, value in details.items() if key not in known and _is_plain(value)}
    return EntrantHelp(
        compile_errors=_compile_errors(details.get("compile_errors") or (), files),
        compile_log=str(details.get("compile_log") or ""),
        first_wrong=_first_wrong(details.get("first_wrong") or {}),
        signal=str(details.get("signal") or ""),
        limit=str(details.get("limit") or ""),
        rest=tuple((key.replace("_", " "), _word(value)) for key, value in sorted(plain.items())),
    )


def _word(value: Any) -> Any:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _first_wrong(element: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    # As text with every digit: a rounded "got" may read like the expected value.
    return tuple((name.replace("_", " "), str(value)) for name, value in element.items())


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) and value != ""


def _compile_errors(errors: Sequence[Mapping[str, Any]], files: Mapping[str, bytes]) -> tuple[CompileError, ...]:
    return tuple(_compile_error(error, files) for error in errors[:ERRORS_SHOWN])


def _compile_error(error: Mapping[str, Any], files: Mapping[str, bytes]) -> CompileError:
    path, line, column = str(error.get("file", "")), int(error.get("line") or 0), int(error.get("column") or 0)
    source = _line_of(files.get(path, b""), line)
    indent = "".join("\t" if character == "\t" else " " for character in source[: max(column - 1, 0)])
    place = ":".join(str(part) for part in (path, line, column) if part)
    return CompileError(place, str(error.get("message", "")), source, f"{indent}^" if source and column else "")


def _line_of(content: bytes, number: int) -> str:
    lines = content.decode(errors="replace").splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else ""
