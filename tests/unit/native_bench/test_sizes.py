"""The sizes of a sweep as text: what is read, how points are spaced, and what is refused in which words."""

import pytest

from native_bench.local_job import find_problem
from native_bench.sizes import MOST_POINTS, parse_number, parse_span, plan_points
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem import Problem


@pytest.fixture(scope="module")
def gemm() -> Problem:
    return find_problem(ProblemId.parse("GEMM/nn/fp32"), None)[0]


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("4096", 4096), ("4k", 4096), ("2M", 2 << 20), ("1g", 1 << 30)]
)
def test_it_reads_numbers_with_suffixes(text: str, number: int) -> None:
    assert parse_number(text) == number


def test_it_spaces_points_evenly_in_logs() -> None:
    assert parse_span("n=1k:4m:13").extents == tuple(1024 << bit for bit in range(13))
    assert parse_span("n=10:1000:3").extents == (10, 100, 1000)
    assert parse_span("n=1:1000003:2").extents == (1, 1000003)


def test_it_gives_each_whole_number_of_a_narrow_range_once() -> None:
    assert parse_span("n=1:4:50").extents == (1, 2, 3, 4)


def test_it_ties_parameters_and_leaves_the_others_at_their_defaults(gemm: Problem) -> None:
    plan = plan_points(gemm, [parse_span("m=n=32:128:3")])
    assert plan.points == tuple({"m": size, "n": size, "k": 64} for size in (32, 64, 128))
    assert plan.varying.label == "m = n"


def test_it_takes_fixed_sizes_beside_the_range(gemm: Problem) -> None:
    plan = plan_points(gemm, [parse_span("k=7"), parse_span("m=1:2:2")])
    assert plan.points == ({"m": 1, "n": 64, "k": 7}, {"m": 2, "n": 64, "k": 7})
    assert plan.varying.names == ("m",)


def test_it_takes_a_zero_where_the_problem_does() -> None:
    conv = find_problem(ProblemId.parse("Conv/conv2d/fp32"), None)[0]
    assert plan_points(conv, [parse_span("pad_h=pad_w=0")]).points[0]["pad_h"] == 0


def test_it_takes_one_size(gemm: Problem) -> None:
    assert plan_points(gemm, [parse_span("m=n=k=9")]).points == ({"m": 9, "n": 9, "k": 9},)
    assert parse_span("n=8:8:1").extents == (8,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1k:4m:8", "names no parameter"),
        ("=4", "names no parameter"),
        ("n=n=4", "twice"),
        ("n=1:2", "no range"),
        ("n=", "no whole number"),
        ("n=-4", "no whole number"),
        ("n=1.5:2:2", "no whole number"),
        ("n=4x", "no whole number"),
        ("n=0:4:3", "has a zero"),
        ("n=1:4:0", "has a zero"),
        ("n=4k:1k:3", "reversed: it begins at 4096 and ends at 1024"),
        ("n=1:4:1", "one point"),
        (f"n=1:4:{MOST_POINTS + 1}", f"{MOST_POINTS} at most"),
    ],
)
def test_it_refuses_what_is_no_span(text: str, words: str) -> None:
    with pytest.raises(Rejected, match=words) as refused:
        parse_span(text)
    assert refused.value.code == "sweep:sizes"


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        (["q=4"], "GEMM/nn/fp32 has no parameter 'q'; it has m, n, k"),
        (["m=4", "m=1:2:2"], "'m' is given twice"),
        (["m=1:2:2", "n=k=1:2:2"], "m and n=k vary independently"),
        (["m=0"], "m=0 is outside the range of GEMM/nn/fp32, 1 to 16384"),
        (["m=1:16385:3"], "m=16385 is outside the range of GEMM/nn/fp32, 1 to 16384"),
    ],
)
def test_it_refuses_what_the_problem_does_not_declare(gemm: Problem, spans: list[str], words: str) -> None:
    with pytest.raises(Rejected, match=words):
        plan_points(gemm, [parse_span(text) for text in spans])


def test_it_refuses_sizes_at_which_a_tensor_is_empty() -> None:
    conv = find_problem(ProblemId.parse("Conv/conv2d/fp32"), None)[0]
    with pytest.raises(Rejected, match=r"'y' has the shape \[1, 32, -6, 28\]: it is empty"):
        plan_points(conv, [parse_span("kh=31"), parse_span("h=22")])
