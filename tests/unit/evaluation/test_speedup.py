"""One speed-up from a record's cases: weighted in logs, or none at all."""

import math
from typing import Any

import pytest

from submissions.evaluation.speedup import speedup_over
from tests.unit.evaluation.conftest import timed_case

WEIGHTS = {"small": 1.0, "large": 3.0}


def test_it_is_the_weighted_geometric_mean(record: dict[str, Any]) -> None:
    figure = speedup_over(record["cases"], WEIGHTS, "baseline")
    assert figure is not None
    assert figure.value == pytest.approx(math.exp((0.27 + 3 * 0.31) / 4))
    assert figure.lo < figure.value < figure.hi


def test_it_does_not_depend_on_the_order_of_cases(record: dict[str, Any]) -> None:
    assert speedup_over(record["cases"], WEIGHTS, "incumbent") == speedup_over(
        record["cases"][::-1], WEIGHTS, "incumbent"
    )


def test_it_does_not_collapse_over_many_tiny_ratios() -> None:
    cases = [timed_case(f"c{number}", [-20.0, -20.0]) for number in range(60)]
    figure = speedup_over(cases, {case["id"]: 1.0 for case in cases}, "baseline")
    assert figure is not None
    assert figure.value == pytest.approx(math.exp(-20))


@pytest.mark.parametrize(
    ("cases", "weights"),
    [
        ([], {}),
        ([], WEIGHTS),
        ([timed_case("small", [0.1])], WEIGHTS),
        ([timed_case("small", [0.1]), timed_case("other", [0.1])], WEIGHTS),
        ([timed_case("small", [0.1]), timed_case("large", [])], WEIGHTS),
        ([timed_case("small", [0.1]), timed_case("large", [0.1, 0.2])], WEIGHTS),
        ([timed_case("small", [0.1]), timed_case("small", [0.1])], {"small": 1.0}),
        ([{"id": "small"}, {"id": "large"}], WEIGHTS),
    ],
)
def test_it_gives_none_where_a_figure_is_missing(cases: list[Any], weights: dict[str, float]) -> None:
    assert speedup_over(cases, weights, "baseline") is None
