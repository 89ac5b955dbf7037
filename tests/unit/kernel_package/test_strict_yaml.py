"""YAML as plain data: hostile documents are refused with their line, and what we write we read back."""

import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.kernel_package.strict_yaml import MAX_DEPTH, dump_yaml, load_yaml, load_yaml_with_lines
from tests.unit.kernel_package.conftest import rejection

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("yes", "yes"),
        ("0777", "0777"),
        ("0x1f", "0x1f"),
        ("12:30:00", "12:30:00"),
        ("2026-01-31", "2026-01-31"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("<<", "<<"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("-17", -17),
        ("0", 0),
        ("1e3", 1000.0),
        ("2.5", 2.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("'12'", "12"),
        ("[1, a]", [1, "a"]),
    ],
)
def test_it_reads_scalars_without_the_surprises(text: str, value: object) -> None:
    assert load_yaml(text.encode(), "x.yaml") == value
    assert type(load_yaml(text.encode(), "x.yaml")) is type(value)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (LAUGHS, "package:yaml-alias", 1),
        ("a: 1\nb: &b [*b]\n", "package:yaml-alias", 2),
        ("a: &x 1\nb: *x\n", "package:yaml-alias", 1),
        ("a: *nowhere\n", "package:yaml-alias", None),
        ("a: 1\nb: 2\na: 3\n", "package:yaml-duplicate-key", 3),
        ("a:\n  b: 1\n  'b': 2\n", "package:yaml-duplicate-key", 3),
        ("a: 1\n2: b\n", "package:yaml", 2),
        ("a: 1\n[x]: b\n", "package:yaml", 2),
        ("a: !!python/object:os.system x\n", "package:yaml", 1),
        ("a: !mine {b: 1}\n", "package:yaml", 1),
        ("a: !!binary aGk=\n", "package:yaml", 1),
        ("a: !!set {b}\n", "package:yaml", 1),
        ("a: !!int '0777'\n", "package:yaml", 1),
        ("a: !!float 'x'\n", "package:yaml", 1),
        ("a: !!bool maybe\n", "package:yaml", 1),
        ("a: 1e999\n", "package:yaml", 1),
        ("a: 99999999999999999999\n", "package:yaml", 1),
        ("a: " + "9" * 5000 + "\n", "package:yaml", 1),
        ("x: 1\na: [1, 2\n", "package:yaml", 3),
        ("--- 1\n--- 2\n", "package:yaml", 2),
        ("", "package:yaml", None),
        ("# nothing\n", "package:yaml", None),
        ('a: "\\0"\n', "package:yaml", 1),
        ('a: "\\x1b[31m"\n', "package:yaml", 1),
        ("a: \x07\n", "package:yaml", None),
        ("a: x\u202ey\n", "package:yaml", 1),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "package:yaml", 1),
        ("[" * 30000, "package:yaml", None),
        ("[" + "1," * 5001 + "]", "package:yaml", 1),
        ("a: '" + "x" * 70000 + "'", "package:yaml", None),
    ],
)
def test_it_refuses_hostile_documents_with_their_line(text: str, code: str, line: int | None) -> None:
    fault = rejection(lambda: load_yaml(text.encode(), "x.yaml"))
    assert fault.code == code
    assert line is None or fault.details["line"] == line
    assert fault.message.startswith("x.yaml")
    assert len(fault.message) < 500


def test_it_refuses_what_is_not_utf8() -> None:
    assert rejection(lambda: load_yaml(b"a: \xff", "x.yaml")).code == "package:yaml"
    assert rejection(lambda: load_yaml("a: 1".encode("utf-16"), "x.yaml")).code == "package:yaml"
    assert load_yaml("a: 1".encode("utf-8-sig"), "x.yaml") == {"a": 1}


def test_it_knows_each_values_line() -> None:
    document, lines = load_yaml_with_lines(b"a: 1\nb:\n  - x\n  - c: 2\n", "x.yaml")
    assert document == {"a": 1, "b": ["x", {"c": 2}]}
    assert (lines[("a",)], lines[("b",)], lines[("b", 1, "c")]) == (1, 2, 4)


def test_it_writes_a_shared_list_without_an_alias() -> None:
    shared = [1, 2]
    assert load_yaml(dump_yaml({"a": shared, "b": shared}), "x.yaml") == {"a": [1, 2], "b": [1, 2]}


TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=40),
    st.sampled_from(
        ["NO", "0777", "1e3", "12:30:00", "2026-01-31", "~", "", "null", ".5", "a: b", "- x", "# c", "x\ny"]
    ),
)
DATA: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXT, DATA, max_size=5))
@settings(max_examples=150, deadline=None)
def test_it_reads_back_what_it_writes(document: dict[str, Any]) -> None:
    written = dump_yaml(document)
    assert load_yaml(written, "x.yaml") == document
    assert dump_yaml(load_yaml(written, "x.yaml")) == written


@given(st.dictionaries(st.sampled_from("abc"), TEXT | st.floats(-1e9, 1e9) | st.integers(), max_size=3))
@settings(max_examples=50, deadline=None)
def test_it_writes_what_other_parsers_read_the_same(document: dict[str, Any]) -> None:
    read = yaml.safe_load(dump_yaml(document))
    assert {key: type(value) for key, value in read.items()} == {
        key: type(value) for key, value in document.items()
    }
    assert all(read[key] == value or math.isclose(read[key], value) for key, value in document.items())
