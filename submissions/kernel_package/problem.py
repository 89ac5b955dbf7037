"""A problem's contract as data: signature, cases, hidden ranges, tolerance, work. Read from problem.yaml."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from submissions.kernel_package.dtypes import DTYPE_BYTES, is_float
from submissions.kernel_package.expressions import evaluate
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem_rules import check_problem
from submissions.kernel_package.schema import check_schema
from submissions.kernel_package.strict_yaml import load_yaml_with_lines

Expression = str | int


@dataclass(frozen=True)
class Parameter:
    """A size of the problem, with the range it is defined for."""

    name: str
    label: str
    min: int
    max: int
    default: int


@dataclass(frozen=True)
class Tensor:
    """One dense row-major argument; `role` is in or out."""

    name: str
    role: str
    dtype: str
    shape: tuple[Expression, ...]


@dataclass(frozen=True)
class Scalar:
    """One argument passed by value: a number, or an integer expression over the dims."""

    name: str
    dtype: str
    value: int | float | str


@dataclass(frozen=True)
class Case:
    """One public shape and input distribution."""

    id: str
    dims: Mapping[str, int]
    distribution: str = "uniform"
    weight: float = 1.0


@dataclass(frozen=True)
class Hidden:
    """How many secret shapes a run draws, and from where (inclusive)."""

    count: int
    ranges: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Tolerance:
    """How far an element may be off; which members count depends on `kind`."""

    kind: str
    terms: Expression = 1
    accumulate: str = "fp64"
    c: float = 4.0
    max: float = 0.0


@dataclass(frozen=True)
class Problem:
    """One version of a problem's contract, checked for consistency."""

    id: ProblemId
    version: int
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    tensors: tuple[Tensor, ...]
    scalars: tuple[Scalar, ...]
    cases: tuple[Case, ...]
    dry_run: Mapping[str, int]
    hidden: Hidden
    tolerance: Tolerance
    flops: Expression
    bytes_min: Expression
    unit: str
    mode: str
    threads: int
    timeout_s: float
    memory_bytes: Expression
    must_fail: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.role == "in")

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.role == "out")

    @property
    def weights(self) -> dict[str, float]:
        """Each public case's weight by its id."""
        return {case.id: case.weight for case in self.cases}

    def case(self, case_id: str) -> Case | None:
        return next((case for case in self.cases if case.id == case_id), None)

    def shapes(self, dims: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Return each tensor's shape at `dims`; raises Rejected `package:expression`."""
        return {tensor.name: tuple(evaluate(extent, dims) for extent in tensor.shape) for tensor in self.tensors}

    def scalar_values(self, dims: Mapping[str, int]) -> dict[str, int | float]:
        """Return each scalar's value at `dims`: float for the fp dtypes, else int."""
        return {scalar.name: _scalar_value(scalar, dims) for scalar in self.scalars}

    def tensor_bytes_of(self, dims: Mapping[str, int]) -> int:
        """Return the bytes of all tensors together at `dims`."""
        shapes = self.shapes(dims)
        return sum(math.prod(shapes[tensor.name]) * DTYPE_BYTES[tensor.dtype] for tensor in self.tensors)

    def flops_of(self, dims: Mapping[str, int]) -> int:
        return evaluate(self.flops, dims)

    def bytes_min_of(self, dims: Mapping[str, int]) -> int:
        return evaluate(self.bytes_min, dims)

    def memory_bytes_of(self, dims: Mapping[str, int]) -> int:
        return evaluate(self.memory_bytes, dims)

    def tolerance_terms(self, dims: Mapping[str, int]) -> int:
        """Return the reduction length that the error bound takes."""
        return evaluate(self.tolerance.terms, dims)


def _scalar_value(scalar: Scalar, dims: Mapping[str, int]) -> int | float:
    value = evaluate(scalar.value, dims) if isinstance(scalar.value, str) else scalar.value
    return float(value) if is_float(scalar.dtype) else int(value)


def parse_problem(data: bytes, problem_id: ProblemId) -> Problem:
    """Read problem.yaml; raises Rejected `package:{yaml…,schema,problem,expression}`."""
    where = f"problems/{problem_id}/problem.yaml"
    document, lines = load_yaml_with_lines(data, where)
    check_schema(document, "problem", where, lines)
    problem = _problem(document, problem_id)
    check_problem(problem, where)
    return problem


def _problem(document: Mapping[str, Any], problem_id: ProblemId) -> Problem:
    cases = tuple(
        Case(case["id"], case["dims"], case.get("distribution", "uniform"), float(case.get("weight", 1)))
        for case in document["cases"]
    )
    return Problem(
        id=problem_id,
        version=document["version"],
        title=document["title"],
        description=document["description"],
        parameters=tuple(Parameter(**parameter) for parameter in document["parameters"]),
        tensors=tuple(Tensor(**{**tensor, "shape": tuple(tensor["shape"])}) for tensor in document["tensors"]),
        scalars=tuple(Scalar(**scalar) for scalar in document.get("scalars", ())),
        cases=cases,
        dry_run=document.get("dry_run", {"dims": cases[0].dims})["dims"],
        hidden=Hidden(
            document["hidden"]["count"],
            {name: (span[0], span[1]) for name, span in document["hidden"]["ranges"].items()},
        ),
        tolerance=Tolerance(**document["tolerance"]),
        flops=document["flops"],
        bytes_min=document["bytes_min"],
        unit=document["unit"],
        mode=document["mode"],
        threads=document.get("threads", 1),
        timeout_s=float(document["timeout_s"]),
        memory_bytes=document["memory_bytes"],
        must_fail=tuple(document["must_fail"]),
    )
