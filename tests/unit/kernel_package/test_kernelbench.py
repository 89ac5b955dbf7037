"""KernelBench's ids, parameters and cases: what each means here, the way back, and what is refused."""

from pathlib import Path

import pytest

import native_bench
from submissions.kernel_package.kernelbench import (
    BENCHMARKS,
    Benchmark,
    NamedCase,
    Request,
    Workload,
    alias_of,
    cases_of,
    find_benchmark,
    request_of,
    workload_of,
)
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem import Problem, parse_problem
from tests.unit.kernel_package.conftest import rejection

GEMM = ProblemId.parse("GEMM/nn/fp32")
CONV = ProblemId.parse("Conv/conv2d/fp32")
SAXPY = ProblemId.parse("Vector/saxpy/fp32")
MATMUL = {"inputRows": 3, "inputCols": 5, "outputCols": 7}
CONVOLUTION = {
    "inputN": 2, "inputC": 3, "inputH": 20, "inputW": 30, "filterOutC": 4, "filterH": 5, "filterW": 6,
    "strideH": 7, "strideW": 8, "padH": 0, "padW": 1,
}  # fmt: skip
OPERATIONS = ("add", "subtract", "multiply", "divide")


def starter(problem_id: ProblemId) -> Problem:
    folder = Path(native_bench.__file__).parent / "problems" / str(problem_id)
    return parse_problem((folder / "problem.yaml").read_bytes(), problem_id)


@pytest.mark.parametrize("op", OPERATIONS)
def test_it_reads_a_vector_benchmark(op: str) -> None:
    workload = workload_of("vector", {"op": op, "vectorLength": 1000})
    assert workload == Workload(ProblemId.parse(f"Vector/{op}/fp32"), {"n": 1000})


def test_it_multiplies_input_rows_by_input_columns_with_output_columns() -> None:
    workload = workload_of("matrix-multiplication", MATMUL)
    assert workload == Workload(GEMM, {"m": 3, "k": 5, "n": 7})
    shapes = starter(GEMM).shapes(workload.dims)
    assert shapes == {"a": (3, 5), "b": (5, 7), "c": (3, 7)}


def test_it_reads_a_convolution() -> None:
    workload = workload_of("convolution", CONVOLUTION)
    assert workload.problem_id == CONV
    assert starter(CONV).shapes(workload.dims) == {"x": (2, 3, 20, 30), "f": (4, 3, 5, 6), "y": (2, 4, 3, 4)}
    padding = {"pad_h": 0, "pad_w": 1}
    assert workload.dims.items() >= {"stride_h": 7, "stride_w": 8, **padding}.items()


@pytest.mark.parametrize(
    ("benchmark", "params"),
    [
        *(("vector", {"op": op, "vectorLength": 12}) for op in OPERATIONS),
        ("matrix-multiplication", MATMUL),
        ("convolution", CONVOLUTION),
    ],
)
def test_it_goes_the_way_back(benchmark: str, params: dict[str, int | str]) -> None:
    assert request_of(workload_of(benchmark, params)) == Request(benchmark, params)


def test_it_has_no_way_back_from_what_is_not_kernelbenchs() -> None:
    assert request_of(Workload(SAXPY, {"n": 4})) is None
    assert request_of(Workload(GEMM, {"m": 1, "n": 2, "k": 3, "batch": 4})) is None
    assert request_of(Workload(GEMM, {"m": 1, "n": 2})) is None


def test_it_refuses_an_unknown_benchmark() -> None:
    message = "there is no benchmark 'scan'; known: vector, matrix-multiplication, convolution"
    assert rejection(lambda: find_benchmark("scan")).message == message
    assert rejection(lambda: workload_of("scan", {})).code == "sweep:benchmark"


@pytest.mark.parametrize(
    ("benchmark", "params", "words"),
    [
        ("vector", {"op": "add"}, "vector needs the parameter 'vectorLength'"),
        ("vector", {"vectorLength": 4}, "vector needs the parameter 'op'"),
        ("vector", {}, "'op', 'vectorLength'"),
        ("vector", {"op": "add", "vectorLength": 4, "n": 4}, "no parameter 'n'; it has op, vectorLength"),
        (
            "vector",
            {"op": "modulo", "vectorLength": 4},
            "is 'modulo'; it is one of add, subtract, multiply, divide",
        ),
        ("vector", {"op": ["add"], "vectorLength": 4}, "'op' of vector is ['add']"),
        ("vector", {"op": None, "vectorLength": 4}, "'op' of vector is missing"),
        ("vector", {"op": "add", "vectorLength": 0}, "vectorLength is 0; it must be at least 1"),
        ("vector", {"op": "add", "vectorLength": -4}, "vectorLength is -4"),
        ("vector", {"op": "add", "vectorLength": True}, "vectorLength is True, and no whole number"),
        ("vector", {"op": "add", "vectorLength": 4.0}, "vectorLength is 4.0, and no whole number"),
        ("vector", {"op": "add", "vectorLength": "4"}, "vectorLength is '4', and no whole number"),
        ("vector", {"op": "add", "vectorLength": None}, "vectorLength is None, and no whole number"),
        ("matrix-multiplication", {**MATMUL, "op": "add"}, "no parameter 'op'; it has inputRows, inputCols"),
        ("matrix-multiplication", {**MATMUL, "inputCols": 0}, "inputCols is 0; it must be at least 1"),
        ("convolution", {**CONVOLUTION, "padW": -1}, "padW is -1; it must be at least 0"),
        ("convolution", {**CONVOLUTION, "strideH": 0}, "strideH is 0; it must be at least 1"),
    ],
)
def test_it_refuses_parameters_by_their_names(benchmark: str, params: dict[str, object], words: str) -> None:
    refused = rejection(lambda: workload_of(benchmark, params))
    assert refused.code == "sweep:params"
    assert words in refused.message


def test_it_refuses_an_operation_where_there_is_only_one() -> None:
    refused = rejection(lambda: find_benchmark("convolution").problem_id("add"))
    assert refused.code == "sweep:params"
    assert "no parameter 'op'" in refused.message


def test_it_names_a_problem_as_kernelbench_does() -> None:
    divide = alias_of(ProblemId.parse("Vector/divide/fp32"))
    assert divide is not None
    assert (divide.benchmark.id, divide.op, str(divide)) == ("vector", "divide", "vector --op divide")
    product = alias_of(GEMM)
    assert product is not None
    assert (product.benchmark.id, product.op, str(product)) == (
        "matrix-multiplication",
        None,
        "matrix-multiplication",
    )
    assert alias_of(SAXPY) is None


def test_it_has_the_sizes_that_kernelbench_compares() -> None:
    lengths = [case.dims["n"] for case in find_benchmark("vector").cases]
    assert lengths == [1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216]
    products = {case.id: request_of(Workload(GEMM, case.dims)) for case in cases_of(GEMM)}
    sides = {name: None if one is None else tuple(one.params.values()) for name, one in products.items()}
    squares = {f"square_{side}": (side, side, side) for side in (128, 256, 512, 1024, 2048)}
    assert sides == squares | {
        "rect_256x1024x256": (256, 1024, 256),
        "rect_512x2048x512": (512, 2048, 512),
        "rect_1024x4096x1024": (1024, 4096, 1024),
    }


def test_it_has_convolutions_that_stride_and_wide_filters() -> None:
    cases = {case.id: case.dims for case in cases_of(CONV)}
    assert [name.split("_")[1] for name in cases] == ["small", "small", "medium", "medium", "stride", "5x5"]
    shapes = {name: starter(CONV).shapes(dims) for name, dims in cases.items()}
    assert shapes["conv_stride_224"] == {"x": (1, 16, 224, 224), "f": (32, 16, 3, 3), "y": (1, 32, 112, 112)}
    assert shapes["conv_5x5_224"] == {"x": (1, 16, 224, 224), "f": (32, 16, 5, 5), "y": (1, 32, 224, 224)}


def test_it_has_no_cases_of_other_problems() -> None:
    refused = rejection(lambda: cases_of(SAXPY))
    assert refused.code == "sweep:benchmark"
    assert "no cases of Vector/saxpy/fp32, only of Vector/add/fp32, " in refused.message


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_it_fits_the_problems_it_stands_for(benchmark: Benchmark) -> None:
    for problem_id in benchmark.problems.values():
        parameters = {parameter.name: parameter for parameter in starter(problem_id).parameters}
        assert {*benchmark.dims.values()} == {*parameters}
        assert all(size.least == parameters[size.dim].min for size in benchmark.sizes)
        assert all(
            parameters[name].min <= extent <= parameters[name].max
            for case in benchmark.cases
            for name, extent in case.dims.items()
        )
        assert all(min(shape) >= 1 for case in benchmark.cases for shape in _shapes(problem_id, case))


def _shapes(problem_id: ProblemId, case: NamedCase) -> list[tuple[int, ...]]:
    return list(starter(problem_id).shapes(case.dims).values())


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_it_gives_each_case_a_name_and_a_size_of_its_own(benchmark: Benchmark) -> None:
    assert len({case.id for case in benchmark.cases}) == len(benchmark.cases)
    assert len({frozenset(case.dims.items()) for case in benchmark.cases}) == len(benchmark.cases)
