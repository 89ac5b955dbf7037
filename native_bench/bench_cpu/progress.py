"""Tells on stderr how far the bench is and how long it will still take."""

import time
from typing import TextIO

_SECONDS_BETWEEN_LINES = 15.0


class Progress:
    """Counts work in units of about a second on a quiet machine."""

    def __init__(self, units: float, stream: TextIO) -> None:
        self._units = units
        self._stream = stream
        self._done = 0.0
        self._begin = self._told = time.monotonic()

    def start(self) -> None:
        """Begin to count; what came before says nothing of the pace."""
        self._begin = self._told = time.monotonic()

    def say(self, text: str) -> None:
        """Tell what begins now."""
        print(text, file=self._stream, flush=True)

    def add(self, units: float, what: str) -> None:
        """Count what is done; tell it from time to time."""
        self._done += units
        now = time.monotonic()
        if now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = now
            self.say(f"{what}; {left_text(self._done, self._units, now - self._begin)}")


def left_text(done: float, units: float, elapsed_seconds: float) -> str:
    """Return how much is done and what is left at the pace so far."""
    if done <= 0:
        return "0 % done"
    left_seconds = max(0.0, elapsed_seconds * (units - done) / done)
    left = f"{left_seconds:.0f} s" if left_seconds < 90 else f"{left_seconds / 60:.0f} min"
    return f"{min(100.0, 100 * done / units):.0f} % done, about {left} left"
