"""problem.yaml: read as data, refused with a telling message when it contradicts itself."""

from collections.abc import Callable
from typing import Any

import pytest

from submissions.kernel_package.problem import Case, Problem, Scalar, Tensor, Tolerance, parse_problem
from submissions.kernel_package.strict_yaml import dump_yaml
from tests.unit.kernel_package.conftest import PROBLEM_ID, rejection

Document = dict[str, Any]


def parsed(document: Document) -> Problem:
    return parse_problem(dump_yaml(document), PROBLEM_ID)


def test_it_reads_the_contract(problem_document: Document) -> None:
    problem = parsed(problem_document)
    assert problem.id == PROBLEM_ID
    assert problem.inputs == (Tensor("x", "in", "fp32", ("n",)), Tensor("y", "in", "fp32", ("n",)))
    assert problem.outputs == (Tensor("z", "out", "fp32", ("n",)),)
    assert problem.scalars == (Scalar("a", "fp32", 2.5), Scalar("n", "i64", "n"))
    assert problem.cases[1] == Case("n4k", {"n": 4096}, "uniform", 1.0)
    assert problem.tolerance == Tolerance("bound", 2, "fp32", 4)
    assert problem.hidden.ranges == {"n": (1, 100000)}
    assert problem.weights == {"n1m": 1.0, "n4k": 1.0}
    assert problem.case("n4k") == problem.cases[1]
    assert problem.case("other") is None


def test_it_computes_sizes_and_work(problem_document: Document) -> None:
    problem = parsed(problem_document)
    dims = {"n": 10}
    assert problem.shapes(dims) == {"x": (10,), "y": (10,), "z": (10,)}
    assert problem.scalar_values(dims) == {"a": 2.5, "n": 10}
    assert isinstance(problem.scalar_values(dims)["n"], int)
    assert problem.tensor_bytes_of(dims) == problem.bytes_min_of(dims) == problem.memory_bytes_of(dims) == 120
    assert problem.flops_of(dims) == 20
    assert problem.tolerance_terms(dims) == 2


def test_it_fills_in_what_may_be_left_out(problem_document: Document) -> None:
    for key in ("scalars", "threads", "dry_run"):
        del problem_document[key]
    problem = parsed(problem_document)
    assert (problem.scalars, problem.threads) == ((), 1)
    assert problem.dry_run == {"n": 1048576}


@pytest.mark.parametrize("tolerance", [{"kind": "ulp", "max": 4}, {"kind": "exact"}])
def test_it_reads_the_other_tolerances(problem_document: Document, tolerance: Document) -> None:
    assert parsed(problem_document | {"tolerance": tolerance}).tolerance.kind == tolerance["kind"]


def test_it_reads_a_float_scalar_from_an_expression(problem_document: Document) -> None:
    problem_document["scalars"] = [{"name": "a", "dtype": "fp32", "value": "2*n"}]
    assert parsed(problem_document).scalar_values({"n": 3}) == {"a": 6.0}


def test_it_allows_a_size_of_zero_where_the_problem_does(problem_document: Document) -> None:
    problem_document["parameters"][0]["min"] = 0
    problem_document["hidden"]["ranges"] = {"n": [0, 17]}
    assert parsed(problem_document).shapes({"n": 0})["z"] == (0,)


Change = Callable[[Document], object]


def case(**changes: object) -> Change:
    return lambda document: document["cases"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d["parameters"].append(d["parameters"][0]), "parameter 'n' stands twice"),
        (lambda d: d["tensors"].append(d["tensors"][0]), "argument 'x' stands twice"),
        (lambda d: d["scalars"].append({"name": "x", "dtype": "fp32", "value": 1}), "argument 'x' stands twice"),
        (lambda d: d["tensors"][0].update(name="n"), "'n' stands twice"),
        (lambda d: (d["tensors"][0].update(name="n"), d["scalars"].clear()), "both a tensor and a parameter"),
        (lambda d: d["tensors"][2].update(role="in"), "no tensor has the role out"),
        (lambda d: d["tensors"][0].update(shape=["k"]), "the shape of 'x' uses 'k'"),
        (lambda d: d["scalars"][1].update(value="2*k"), "the value of 'n' uses 'k'"),
        (lambda d: d.update(flops="2*k"), "flops uses 'k'"),
        (lambda d: d.update(flops="2*"), "ends too early"),
        (lambda d: d["tolerance"].update(terms="k"), "tolerance.terms uses 'k'"),
        (case(id="n4k"), "case id 'n4k' stands twice"),
        (case(dims={"m": 4}), "must give exactly the dims n"),
        (case(dims={"n": 4, "m": 4}), "must give exactly the dims n"),
        (case(dims={"n": 0}), "has n = 0, outside [1, 268435456]"),
        (case(dims={"n": 268435457}), "outside"),
        (case(distribution="gauss"), "unknown distribution 'gauss'; known: uniform"),
        (lambda d: d["dry_run"].update(dims={"n": 0}), "dry_run has n = 0"),
        (lambda d: d["parameters"][0].update(default=0), "min <= default <= max"),
        (lambda d: d["parameters"][0].update(min=10, max=5), "min <= default <= max"),
        (lambda d: d["hidden"].update(ranges={"k": [1, 2]}), "'k', which is no parameter"),
        (lambda d: d["hidden"].update(ranges={"n": [0, 2]}), "hidden.ranges of 'n' is not within"),
        (lambda d: d["hidden"].update(ranges={"n": [3, 2]}), "hidden.ranges of 'n' is not within"),
        (lambda d: d["hidden"].update(ranges={}), "hidden.ranges is empty"),
        (lambda d: d["tensors"][0].update(shape=["n - 5"]), "tensor 'x' has the shape [-4]"),
        (lambda d: d.update(flops="n - 100"), "flops is -99"),
        (lambda d: d.update(bytes_min="100 // (n - 1)"), "divides by zero"),
        (lambda d: d.update(memory_bytes="11*n"), "memory_bytes is under the"),
        (lambda d: d["scalars"][1].update(dtype="i8"), "is no i8"),
        (lambda d: d["scalars"][1].update(dtype="u8", value=-1), "is no u8"),
        (lambda d: d["scalars"][1].update(value=2.5), "is no i64"),
        (lambda d: d["tensors"][2].update(dtype="i32"), "integer outputs are exact"),
    ],
)
def test_it_refuses_contradictions(problem_document: Document, change: Change, why: str) -> None:
    change(problem_document)
    fault = rejection(lambda: parsed(problem_document))
    assert fault.code in ("package:problem", "package:expression")
    assert fault.message.startswith("problems/Vector/saxpy/fp32/problem.yaml")
    assert why in fault.message


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda d: d["tensors"][2].update(shape=["n +"]), "the shape of 'z'"),
        (lambda d: d["scalars"][1].update(value="n n"), "the value of 'n'"),
        (lambda d: d.update(flops="2**n"), "flops"),
        (lambda d: d["tolerance"].update(terms="f(n)"), "tolerance.terms"),
        (lambda d: d["tensors"][2].update(shape=["n // (n - n)"]), "the shape of 'z'"),
        (lambda d: d["scalars"][1].update(value="n // (n - n)"), "the value of 'n'"),
        (lambda d: d.update(bytes_min="n // (n - n)"), "bytes_min"),
        (lambda d: d.update(memory_bytes="n * 9223372036854775807"), "memory_bytes"),
        (lambda d: d["tolerance"].update(terms="n % (n - n)"), "tolerance.terms"),
    ],
)
def test_it_names_the_field_of_a_wrong_expression(problem_document: Document, change: Change, field: str) -> None:
    change(problem_document)
    fault = rejection(lambda: parsed(problem_document))
    assert fault.code == "package:expression"
    assert f"{field}: the expression" in fault.message


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.pop("version"), "'version' is a required property"),
        (lambda d: d["cases"].clear(), "cases: []"),
        (lambda d: d.update(treads=1), "the key 'treads' is unknown, did you mean 'threads'?"),
        (lambda d: d.update(threads=1.0), "1.0 is not of type 'integer'"),
        (lambda d: d.update(mode="warm"), "'warm' is not one of"),
        (lambda d: d["tensors"][0].update(role="inout"), "'inout' is not one of"),
        (lambda d: d["tensors"][0].update(dtype="fp8"), "'fp8' is not one of"),
        (lambda d: d["tolerance"].update(kind="close"), "'close' is not one of"),
        (lambda d: d["tolerance"].pop("c"), "'c' is a required property"),
        (lambda d: d["tolerance"].update(max=1), "the key 'max' is unknown"),
        (lambda d: d["parameters"][0].update(name="2n"), "does not match"),
        (case(weight=0), "minimum"),
        (case(id="a\n"), "does not match"),
    ],
)
def test_it_refuses_what_its_schema_does_not_know(problem_document: Document, change: Change, why: str) -> None:
    change(problem_document)
    fault = rejection(lambda: parsed(problem_document))
    assert fault.code == "package:schema"
    assert why in fault.message
    assert ", line " in fault.message
