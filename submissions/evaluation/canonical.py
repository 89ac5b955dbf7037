"""Canonical JSON: sorted keys, LF, no NaN, so that equal records are equal bytes."""

import json
from typing import Any


def canonical_json(document: Any) -> bytes:
    """Return the one byte form of a JSON document; raises ValueError on NaN or infinity."""
    text = json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"
