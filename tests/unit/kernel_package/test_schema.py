"""The schemas themselves: valid draft 2020-12, closed, and anchored where they match text."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from submissions.kernel_package.schema import SCHEMA_NAMES, check_schema, schema_document
from tests.unit.kernel_package.conftest import rejection


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts(value)


@pytest.mark.parametrize("name", [*SCHEMA_NAMES, "common"])
def test_it_is_a_valid_closed_schema(name: str) -> None:
    document = schema_document(name)
    Draft202012Validator.check_schema(document)
    for part in parts(document):
        if isinstance(part.get("properties"), dict) and part.get("required") and part.get("type") == "object":
            is_switch = "allOf" in part and "additionalProperties" not in part
            assert is_switch or part["additionalProperties"] is False, part
        if isinstance(part.get("pattern"), str):
            assert re.fullmatch(r"\^.*\$", part["pattern"]), part["pattern"]


def test_it_tells_path_and_line() -> None:
    document = {"schema_version": 1, "cases": [{"id": "a", "correct": "yes", "t_ns": []}]}
    fault = rejection(lambda: check_schema(document, "benchmark_output.schema", "here", {("cases", 0): 7}))
    assert fault.code == "package:schema"
    assert fault.message == "here, line 7, cases[0].correct: 'yes' is not of type 'boolean'"
    assert fault.details == {"path": ["cases", 0, "correct"], "line": 7}


def test_it_shortens_long_values() -> None:
    fault = rejection(lambda: check_schema({"schema_version": "x" * 10_000}, "desc", "here"))
    assert len(fault.message) < 400


@pytest.mark.parametrize(
    "document",
    [
        {"schema_version": 1, "cases": [{"id": "a", "correct": True, "t_ns": [1.5], "base_t_ns": [2.0]}]},
        {"schema_version": 1, "cases": [{"id": "a", "correct": False, "t_ns": [], "message": "no"}]},
    ],
)
def test_it_takes_what_a_boards_benchmark_leaves(document: dict[str, Any]) -> None:
    check_schema(document, "benchmark_output.schema", "out.json")


@pytest.mark.parametrize("t_ns", [[0], [-1.0], ["1"], None])
def test_it_refuses_forged_times(t_ns: object) -> None:
    document = {"schema_version": 1, "cases": [{"id": "a", "correct": True, "t_ns": t_ns}]}
    assert (
        rejection(lambda: check_schema(document, "benchmark_output.schema", "out.json")).code == "package:schema"
    )
