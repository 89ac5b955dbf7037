"""bench_result.yaml from a run record: figures, rounding, and the best that is kept."""

import math
from typing import Any

import pytest

from submissions.evaluation.bench_result import bench_result, rounded, unmeasured_bench_result
from submissions.kernel_package.errors import Broken, Rejected
from submissions.kernel_package.problem import Problem
from submissions.kernel_package.schema import check_schema
from submissions.kernel_package.strict_yaml import dump_yaml, load_yaml
from tests.unit.evaluation.conftest import KERNEL_ID, SUBMISSION, timed_case

COMMIT = "d" * 40
OTHER = "33333333-3333-4333-8333-333333333333"


def made(record: dict[str, Any], problem: Problem, previous: dict[str, Any] | None = None) -> dict[str, Any]:
    return bench_result(record, problem, SUBMISSION, "entrant-a", COMMIT, previous)


def test_it_tells_the_sittings_figures(record: dict[str, Any], problem: Problem) -> None:
    document = made(record, problem)
    assert document["kernel_id"] == str(KERNEL_ID)
    assert (document["problem_version"], document["status"], document["processes"]) == (3, "measured", 3)
    assert document["source_commit"] == COMMIT
    assert document["runner"] == {"name": "cpu0", "device": "A CPU", "driver": None, "isolation": "full"}
    assert document["speedup"]["value"] == pytest.approx(math.exp(0.30), rel=1e-5)
    small = document["cases"][0]
    assert small["id"] == "small"
    assert small["t_ns"]["value"] == 1001.0
    assert small["base_t_ns"]["value"] == 1300.0
    assert small["speedup"]["value"] == pytest.approx(math.exp(0.27), rel=1e-5)
    assert small["achieved_gbs"] == pytest.approx(8000 / 1001, rel=1e-5)
    assert small["achieved_gflops"] == pytest.approx(2000 / 1001, rel=1e-5)
    assert small["sol_fraction"] == pytest.approx(500 / 1001, rel=1e-5)
    assert small["max_scaled_error"] == 0.123457
    assert document["best"] == document["current"] == {"submission": SUBMISSION, "speedup": document["speedup"]}


def test_it_round_trips_as_yaml(record: dict[str, Any], problem: Problem) -> None:
    document = made(record, problem)
    assert load_yaml(dump_yaml(document), "bench_result.yaml") == document


def test_it_leaves_open_what_was_not_measured(record: dict[str, Any], problem: Problem) -> None:
    for case in record["cases"]:
        case.pop("t_sol_ns")
        case["max_scaled_error"] = None
    assert [case["sol_fraction"] for case in made(record, problem)["cases"]] == [None, None]


def test_it_shows_the_a_a_interval_of_a_baseline(record: dict[str, Any], problem: Problem) -> None:
    record["kernel_id"] = "x86_64/Vector/saxpy/fp32/reference_impl"
    record["cases"] = [timed_case(case_id, [0.0002, -0.0003, 0.0]) for case_id in ("small", "large")]
    speedup = made(record, problem)["speedup"]
    assert speedup["value"] == 1.0
    assert speedup["lo"] < 1 < speedup["hi"]


def previous(record: dict[str, Any], problem: Problem, value: float) -> dict[str, Any]:
    best = {"submission": OTHER, "speedup": {"value": value, "lo": value, "hi": value}}
    return made(record, problem) | {"best": best}


def test_it_keeps_a_higher_best(record: dict[str, Any], problem: Problem) -> None:
    document = made(record, problem, previous(record, problem, 9.0))
    assert document["best"]["submission"] == OTHER
    assert document["current"]["submission"] == SUBMISSION


def test_it_takes_the_place_of_a_lower_best(record: dict[str, Any], problem: Problem) -> None:
    assert made(record, problem, previous(record, problem, 1.1))["best"]["submission"] == SUBMISSION


@pytest.mark.parametrize(
    "change",
    [
        {"problem_version": 2},
        {"status": "unmeasured"},
        {"runner": {"name": "cpu0", "device": "Another CPU", "driver": None, "isolation": "full"}},
    ],
)
def test_it_never_compares_across_contracts_or_devices(
    record: dict[str, Any], problem: Problem, change: dict[str, Any]
) -> None:
    document = made(record, problem, previous(record, problem, 9.0) | change)
    assert document["best"]["submission"] == SUBMISSION


def test_it_makes_nothing_of_incomplete_figures(record: dict[str, Any], problem: Problem) -> None:
    record["cases"].pop()
    with pytest.raises(Broken) as caught:
        made(record, problem)
    assert caught.value.code == "bench:no-figures"


@pytest.mark.parametrize("value", [1.0, 0.123456789, 1234567.89, 1e-9, 0.0])
def test_it_rounds_to_six_digits(value: float) -> None:
    assert rounded(value) == pytest.approx(value, rel=5e-6)
    assert len(f"{rounded(value):.15g}".replace(".", "").lstrip("0").split("e")[0].rstrip("0")) <= 6


def test_it_marks_a_seeded_kernel_unmeasured() -> None:
    document = unmeasured_bench_result(KERNEL_ID, 1)
    check_schema(document, "bench_result", "x")
    assert document["status"] == "unmeasured"


@pytest.mark.parametrize("status", ["unmeasured", "measured"])
def test_it_allows_figures_exactly_where_they_were_measured(
    record: dict[str, Any], problem: Problem, status: str
) -> None:
    document = made(record, problem) if status == "unmeasured" else unmeasured_bench_result(KERNEL_ID, 1)
    with pytest.raises(Rejected):
        check_schema(document | {"status": status}, "bench_result", "x")


def test_it_lets_a_withdrawn_kernel_keep_its_figures(record: dict[str, Any], problem: Problem) -> None:
    check_schema(made(record, problem) | {"status": "withdrawn"}, "bench_result", "x")
