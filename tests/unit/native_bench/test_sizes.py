"""The sizes of a sweep as text: what is read, how points are spaced, and what is refused in which words."""

import pytest

from native_bench.local_job import find_problem
from native_bench.sizes import MOST_POINTS, parse_number, parse_span, plan_cases, plan_of, plan_points
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.kernelbench import NamedCase, cases_of, find_benchmark
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
    assert plan.varying is not None
    assert plan.varying.label == "m = n"
    assert [case.id for case in plan.cases] == ["m32_n32_k64", "m64_n64_k64", "m128_n128_k64"]


def test_it_takes_fixed_sizes_beside_the_range(gemm: Problem) -> None:
    plan = plan_points(gemm, [parse_span("k=7"), parse_span("m=1:2:2")])
    assert plan.points == ({"m": 1, "n": 64, "k": 7}, {"m": 2, "n": 64, "k": 7})
    assert plan.varying is not None
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


KERNELBENCH = find_benchmark("matrix-multiplication").dims


def test_it_takes_other_names_for_the_parameters(gemm: Problem) -> None:
    spans = [parse_span("inputCols=7"), parse_span("inputRows=outputCols=32:64:2")]
    plan = plan_points(gemm, spans, KERNELBENCH)
    assert plan.points == ({"m": 32, "n": 32, "k": 7}, {"m": 64, "n": 64, "k": 7})
    assert plan.varying is not None
    assert plan.varying.names == ("m", "n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m=4", "GEMM/nn/fp32 has no parameter 'm'; it has inputRows, inputCols, outputCols"),
        ("inputCols=16385", "inputCols=16385 is outside the range of GEMM/nn/fp32, 1 to 16384"),
    ],
)
def test_it_refuses_in_the_words_of_the_call(gemm: Problem, text: str, words: str) -> None:
    with pytest.raises(Rejected, match=words):
        plan_points(gemm, [parse_span(text)], KERNELBENCH)


def test_it_refuses_a_name_whose_parameter_the_problem_lacks(gemm: Problem) -> None:
    with pytest.raises(Rejected, match="no parameter 'vectorLength'"):
        plan_points(gemm, [parse_span("vectorLength=4")], {"vectorLength": "length"})


def test_it_takes_named_cases_in_the_order_of_their_work(gemm: Problem) -> None:
    plan = plan_cases(gemm, cases_of(gemm.id))
    work = [gemm.flops_of(dims) for dims in plan.points]
    assert work == sorted(work)
    assert {case.id for case in plan.cases} == {case.id for case in cases_of(gemm.id)}
    assert plan.varying is None


def test_it_finds_what_varies_among_named_cases(gemm: Problem) -> None:
    add = find_problem(ProblemId.parse("Vector/add/fp32"), None)[0]
    lengths = plan_cases(add, cases_of(add.id)).varying
    assert lengths is not None
    assert (lengths.names, lengths.extents[0], lengths.extents[-1]) == (("n",), 1024, 16777216)
    squares = [case for case in plan_cases(gemm, cases_of(gemm.id)).cases if case.id.startswith("square")]
    sides = plan_of(squares).varying
    assert sides is not None
    assert (sides.names, sides.extents) == (("m", "n", "k"), (128, 256, 512, 1024, 2048))
    assert plan_of(squares[:1]).varying is None


def test_it_leaves_what_a_case_does_not_name_at_its_default(gemm: Problem) -> None:
    assert plan_cases(gemm, [NamedCase("tall", {"m": 4096})]).points == ({"m": 4096, "n": 64, "k": 64},)


@pytest.mark.parametrize(
    ("dims", "words"), [({"m": 16385}, "m=16385 is outside the range"), ({"side": 4}, "has no parameter 'side'")]
)
def test_it_refuses_named_cases_that_the_problem_does_not_declare(
    gemm: Problem, dims: dict[str, int], words: str
) -> None:
    with pytest.raises(Rejected, match=words) as refused:
        plan_cases(gemm, [NamedCase("one", dims)])
    assert refused.value.code == "sweep:sizes"
