"""PTX text to a tree of blocks and statements. Knows comments, strings and braces, not what a statement means."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKENS = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|[{};\n]|[^"{};\n/]+|.', re.DOTALL)
# These end with their line, everything else with a semicolon or a brace.
_LINE_DIRECTIVE = re.compile(r"\.(loc|file|version|target|address_size)\b")
_HEADER = re.compile(r"(\.\w+\s+)*\.(entry|func|section)\b")
_LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)")


@dataclass
class Block:
    """Braces and what stands in them; `header` is the text before the opening one."""

    header: str = ""
    items: list["Block | str"] = field(default_factory=list)


def read_blocks(ptx: str) -> Block:
    """Return the whole text as one block of statements, labels (`name:`) and blocks."""
    root = Block()
    stack = [root]
    for chunk, mark in _chunks(ptx):
        labels, text = _split_labels(chunk)
        stack[-1].items.extend(labels)
        if mark == "{":
            inner = Block(text)
            stack[-1].items.append(inner)
            stack.append(inner)
            continue
        if text:
            stack[-1].items.append(text)
        if mark == "}" and len(stack) > 1:
            stack.pop()
    return root


def _chunks(ptx: str) -> Iterator[tuple[str, str]]:
    """Yield each statement with the mark that ended it; braces of operands and initial values stay inside."""
    pending, depth = "", 0
    for match in _TOKENS.finditer(ptx):
        piece = match[0]
        if piece.startswith(("//", "/*")):
            continue
        if piece == "{" and (depth or not _opens_block(pending)):
            depth += 1
        elif piece == "}" and depth:
            depth -= 1
        elif piece in "{};" or (piece == "\n" and _ends_with_line(pending)):
            yield " ".join(pending.split()), piece
            pending = ""
            continue
        pending += " " if piece == "\n" else piece
    yield " ".join(pending.split()), ""


def _ends_with_line(pending: str) -> bool:
    labels, text = _split_labels(pending)
    return bool(labels and not text) or _LINE_DIRECTIVE.match(text) is not None


def _opens_block(pending: str) -> bool:
    _, text = _split_labels(pending)
    return not text or _HEADER.match(text) is not None


def _split_labels(text: str) -> tuple[list[str], str]:
    labels = []
    while match := _LABEL.match(text):
        labels.append(f"{match[1]}:")
        text = text[match.end() :]
    return labels, text.strip()
