"""The JSON Schemas (draft 2020-12) of every document we read or keep."""

import difflib
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.strict_yaml import Lines

SCHEMA_NAMES = ("desc", "problem", "bench_result", "submission", "run", "decision", "benchmark_output.schema")
_COMMON = "common"
_MESSAGE_CHARACTERS = 300


def _is_integer(_checker: object, value: object) -> bool:
    # The draft calls 1.0 an integer; code that asks for a count does not.
    return isinstance(value, int) and not isinstance(value, bool)


def _matches_pattern(
    _validator: object, pattern: str, instance: object, _schema: object
) -> Iterator[ValidationError]:
    # Python's `$` lets a trailing newline pass, ECMA's does not: all our patterns are anchored: match whole.
    if isinstance(instance, str) and not re.fullmatch(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _has_unique_items(
    _validator: object, is_asked: bool, instance: object, _schema: object
) -> Iterator[ValidationError]:
    # The library compares every pair: 1,600 small mappings take seconds.
    if is_asked and isinstance(instance, list):
        distinct = {json.dumps(item, sort_keys=True) for item in instance}
        if len(distinct) != len(instance):
            yield ValidationError("it holds the same value twice")


_StrictValidator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={"pattern": _matches_pattern, "uniqueItems": _has_unique_items},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def schema_document(name: str) -> dict[str, Any]:
    """Return the schema's own JSON, e.g. to publish it."""
    text = resources.files("submissions.kernel_package").joinpath("schemas", f"{name}.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@lru_cache
def _validator(name: str) -> Validator:
    common = Resource.from_contents(schema_document(_COMMON), default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(f"{_COMMON}.json", common)
    validator: Validator = _StrictValidator(schema_document(name), registry=registry)
    return validator


def check_schema(document: Any, schema_name: str, where: str, lines: Lines | None = None) -> None:
    """Raise Rejected `package:schema` with the most telling fault of the document, its path and its line."""
    error = best_match(_validator(schema_name).iter_errors(document))
    if error is None:
        return
    path = [part if isinstance(part, int) else part[:80] for part in error.absolute_path]
    line = _line_of(path, lines or {})
    spot = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    place = where + (f", line {line}" if line else "") + (f", {spot}" if spot else "")
    raise Rejected("package:schema", f"{place}: {_explain(error)}", path=path, line=line)


def _line_of(path: list[str | int], lines: Lines) -> int | None:
    for length in range(len(path), -1, -1):
        line = lines.get(tuple(path[:length]))
        if line is not None:
            return line
    return None


def _explain(error: ValidationError) -> str:
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        return _explain_unknown_key(error.instance, error.schema)
    message = error.message
    if len(message) > _MESSAGE_CHARACTERS:
        message = f"{message[:_MESSAGE_CHARACTERS]}…"
    return message


def _explain_unknown_key(instance: dict[str, Any], schema: Any) -> str:
    known = list(schema.get("properties", {}))
    unknown = next(key for key in instance if key not in known)
    close = difflib.get_close_matches(unknown, known, 1)
    hint = f", did you mean {close[0]!r}?" if close else f"; known: {', '.join(known) or 'none'}"
    return f"the key {unknown[:60]!r} is unknown{hint}"
