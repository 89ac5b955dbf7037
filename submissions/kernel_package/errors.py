"""The two families of errors: the entrant's (`Rejected`) and ours (`Broken`)."""

from collections.abc import Mapping
from typing import Any


class ZooError(Exception):
    """An error with a stable code `area:what`, one sentence, and JSON details."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: Mapping[str, Any] = details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Rejected(ZooError):
    """The entrant is at fault; the message says what is wrong, where, and what to do."""


class Broken(ZooError):
    """We are at fault; the entrant loses nothing and the step may be tried again."""
