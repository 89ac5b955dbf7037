"""Keep a run's log bounded: the head and the tail stay, the middle is counted. Pure."""

import re

HEAD_CHARACTERS = 64 * 1024
TAIL_CHARACTERS = 192 * 1024

_GAP = re.compile(r"\n\[(\d+) characters left out\]\n")


def add_chunk(log: str, text: str, head: int = HEAD_CHARACTERS, tail: int = TAIL_CHARACTERS) -> str:
    """Append text to a capped log; beyond head + tail the oldest of the tail gives way and is counted."""
    gap = _GAP.match(log, head) if len(log) > head else None
    left_out = int(gap[1]) if gap else 0
    start, end = log[:head], log[gap.end() :] if gap else log[head:]
    if not gap:
        room = head - len(start)
        start, text = start + text[:room], text[room:]
    end += text
    surplus = len(end) - tail
    if surplus <= 0 and not left_out:
        return start + end
    if surplus > 0:
        left_out, end = left_out + surplus, end[surplus:]
    return f"{start}\n[{left_out} characters left out]\n{end}"
