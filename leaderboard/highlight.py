"""Source text as highlighted lines: classes only, the colours are in the style sheet."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

from leaderboard.problem_detail import ProblemView

# Longer files are shown plain: highlighting costs about a second a megabyte.
HIGHLIGHTED_BYTES = 200_000
SHOWN_BYTES = 1_000_000
CLASS_PREFIX = "hl-"
_LEXER_NAMES = {"cu": "kernel.cu", "cuh": "kernel.cu", "hip": "kernel.cu"}


@dataclass(frozen=True)
class SourceFile:
    """One file of a package; `lines` is empty where `note` says why it is not shown."""

    path: str
    size_bytes: int
    lines: tuple[SafeString, ...]
    note: str = ""

    @property
    def anchor(self) -> str:
        return "".join(character if character.isalnum() else "-" for character in self.path)


def source_files(files: Mapping[str, bytes]) -> tuple[SourceFile, ...]:
    """Return the package's files for reading, the kernel's own before the description."""
    return tuple(source_file(path, files[path]) for path in sorted(files, key=_reading_order))


def starter_sources(problem: ProblemView) -> tuple[tuple[str, tuple[SourceFile, ...]], ...]:
    """Return each board's baseline, for a newcomer to start from."""
    return tuple(
        (board_id, source_files({path: text.encode() for path, text in files.items()}))
        for board_id, files in problem.starter_sources.items()
    )


def source_file(path: str, content: bytes) -> SourceFile:
    """Return one file with its lines escaped and, where a lexer knows it, highlighted."""
    if len(content) > SHOWN_BYTES:
        return SourceFile(path, len(content), (), "too long to be shown here; download the package to read it")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return SourceFile(path, len(content), (), "not UTF-8 text")
    lines = text.removesuffix("\n").split("\n")
    lexer = _lexer(path) if len(content) <= HIGHLIGHTED_BYTES else None
    marked = _highlighted(text, lexer) if lexer else None
    # A lexer may normalise line ends; line numbers must stay those of the file.
    if marked is None or len(marked) != len(lines):
        marked = [mark_safe(escape(line)) for line in lines]  # noqa: S308 escaped one word before
    return SourceFile(path, len(content), tuple(marked))


def _reading_order(path: str) -> tuple[bool, str]:
    return (path.startswith(".kernel_package/"), path)


def _lexer(path: str) -> Lexer | None:
    suffix = path.rsplit(".", 1)[-1].lower()
    try:
        return get_lexer_for_filename(_LEXER_NAMES.get(suffix, path), stripnl=False)
    except ClassNotFound:
        return None


def _highlighted(text: str, lexer: Lexer) -> list[SafeString]:
    # The formatter closes its spans at each line's end, so lines can be cut apart.
    html = highlight(text, lexer, HtmlFormatter(nowrap=True, classprefix=CLASS_PREFIX))
    return [mark_safe(line) for line in html.removesuffix("\n").split("\n")]  # noqa: S308 Pygments escapes
