"""Expressions mean what Python's integers mean, and nothing else can be said in them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.expressions import MAX_VALUE, evaluate, names_in
from tests.unit.kernel_package.conftest import rejection

DIMS = {"n": 1000, "m": 7, "k_2": 0}


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (12, 12),
        ("n", 1000),
        ("2*n", 2000),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 3 - 2", 5),
        ("100 // 7 // 2", 7),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("7 % -3", -2),
        ("-(n) * -1", 1000),
        ("ceil_div(n, 256)", 4),
        ("ceil_div(-7, 2)", -3),
        ("min(n, m, 3)", 3),
        ("max(n, m) + k_2", 1000),
        ("  n  //\tm ", 142),
        ("9223372036854775807", MAX_VALUE),
    ],
)
def test_it_evaluates(expression: str | int, value: int) -> None:
    assert evaluate(expression, DIMS) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "ends too early"),
        ("   ", "ends too early"),
        ("2 +", "ends too early"),
        ("(n", "ends too early"),
        ("n)", "not expected"),
        ("n n", "not expected"),
        ("2n", "not expected"),
        ("* n", "not expected"),
        ("+n", "not expected"),
        ("n / 2", "'/' is not allowed"),
        ("n ** 2", "not expected"),
        ("n < 2", "'<' is not allowed"),
        ("n.real", "'.' is not allowed"),
        ("'a'", "is not allowed"),
        ("n := 2", "is not allowed"),
        ("q", "'q' is not a dim; known: k_2, m, n"),
        ("pow(n, 2)", "'pow' is no function"),
        ("__import__(n)", "is no function"),
        ("min(n)", "wrong number of arguments"),
        ("ceil_div(n, 2, 3)", "wrong number of arguments"),
        ("ceil_div(n; 2)", "';' is not allowed"),
        ("min(n m)", "is expected"),
        ("n // 0", "divides by zero"),
        ("n % k_2", "divides by zero"),
        ("ceil_div(n, k_2)", "divides by zero"),
        ("9223372036854775808", "does not fit 64 bits"),
        ("9223372036854775807 + 1", "does not fit 64 bits"),
        ("*".join(["n"] * 30), "does not fit 64 bits"),
        ("1" * 190, "does not fit 64 bits"),
        ("(" * 60 + "n" + ")" * 60, "nested deeper"),
        ("-" * 100 + "n", "nested deeper"),
        ("n+" * 150 + "n", "longer than 200"),
    ],
)
def test_it_says_what_is_wrong(expression: str, why: str) -> None:
    fault = rejection(lambda: evaluate(expression, DIMS))
    assert fault.code == "package:expression"
    assert why in fault.message
    assert len(fault.message) < 400


def test_it_names_the_dims_it_needs() -> None:
    assert names_in("ceil_div(n, 256) * min(m, 4) - -k") == {"n", "m", "k"}
    assert names_in(12) == frozenset()


EXPRESSIONS = st.recursive(
    st.integers(0, 999).map(str) | st.sampled_from(sorted(DIMS)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        st.tuples(st.sampled_from(["min", "max", "ceil_div"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
@settings(max_examples=300, deadline=None)
def test_it_agrees_with_python(expression: str) -> None:
    scope = {"__builtins__": {}, "min": min, "max": max, "ceil_div": ceil_div, **DIMS}
    try:
        expected: int | None = eval(expression, scope)
    except ZeroDivisionError:
        expected = None
    try:
        assert evaluate(expression, DIMS) == expected
    except Rejected as fault:
        is_bounded = any(why in fault.message for why in ("64 bits", "deeper", "longer"))
        assert is_bounded or (expected is None and "zero" in fault.message)


@given(st.text(max_size=30))
@settings(max_examples=150, deadline=None)
def test_it_answers_any_text_with_a_value_or_its_code(text: str) -> None:
    try:
        assert isinstance(evaluate(text, DIMS), int)
    except Rejected as fault:
        assert fault.code == "package:expression"
