"""Commit messages: composed so that no submitter's text can forge a trailer, and parsed again."""

import re
from collections.abc import Mapping

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,63}): ?(.*)")
_LOOKS_LIKE_TRAILER = re.compile(r"\s*[A-Za-z][A-Za-z0-9-]*\s*:|---|\(cherry picked")

SUBJECT_CHARACTERS = 250
VALUE_CHARACTERS = 250
BODY_CHARACTERS = 10_000


def one_line(text: str, limit: int) -> str:
    """Return text with every run of white space and control characters made one blank, cut at `limit`."""
    return " ".join(_CONTROL.sub(" ", text).split())[:limit]


def commit_message(subject: str, body: str = "", trailers: Mapping[str, str] | None = None) -> bytes:
    """Compose subject, body and trailers; only `trailers` ends as trailers, whatever the texts contain."""
    paragraphs = [one_line(subject, SUBJECT_CHARACTERS) or "(no subject)"]
    text = _body(body)
    if text:
        paragraphs.append(text)
    lines = []
    for name, value in (trailers or {}).items():
        if not _TRAILER.fullmatch(f"{name}: "):
            raise ValueError(f"{name!r} is not a trailer name")
        shown = one_line(value, VALUE_CHARACTERS)
        if shown:
            lines.append(f"{name}: {shown}")
    if lines:
        paragraphs.append("\n".join(lines))
    # A lone surrogate cannot be encoded; a replaced letter is better than a commit that cannot be written.
    return ("\n\n".join(paragraphs) + "\n").encode("utf-8", "replace")


def _body(text: str) -> str:
    lines = [_CONTROL.sub(" ", line).rstrip() for line in text[:BODY_CHARACTERS].splitlines()]
    return "\n".join(f"> {line}" if _LOOKS_LIKE_TRAILER.match(line) else line for line in lines).strip("\n")


def parse_message(message: str) -> tuple[str, str, dict[str, str]]:
    """Split a message into subject, body and trailers; those are the last paragraph if all of it is trailers."""
    subject, _, rest = message.strip("\n").partition("\n")
    paragraphs = rest.strip("\n").split("\n\n")
    trailers = _trailers(paragraphs[-1])
    if trailers:
        paragraphs.pop()
    return subject, "\n\n".join(paragraphs).strip("\n"), trailers


def _trailers(paragraph: str) -> dict[str, str]:
    trailers: dict[str, str] = {}
    for line in paragraph.splitlines():
        match = _TRAILER.fullmatch(line)
        if not match:
            return {}
        trailers[match[1]] = match[2].strip()
    return trailers
