"""What a problem.yaml must keep beyond its schema, so that no run meets a contract that contradicts itself."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from submissions.kernel_package.dtypes import DTYPE_BYTES, integer_range, is_float
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.expressions import evaluate, names_in

if TYPE_CHECKING:
    from submissions.kernel_package.problem import Problem, Scalar

_CODE = "package:problem"

# How a case's inputs are drawn; reference.py's `inputs` knows them.
DISTRIBUTIONS = (
    "uniform",
    "normal",
    "positive",
    "row_scaled",
    "outliers",
    "sparse",
    "integers",
    "cancelling",
)


def check_problem(problem: "Problem", where: str) -> None:
    """Raise Rejected `package:problem` on the first contradiction."""
    try:
        _check_names(problem)
        _check_parameters(problem)
        _check_expressions(problem)
        _check_hidden(problem)
        _check_tolerance(problem)
        for label, dims in _all_dims(problem):
            _check_dims(problem, label, dims)
            _check_sizes(problem, label, dims)
    except Rejected as fault:
        raise Rejected(fault.code, f"{where}: {fault.message}", **fault.details) from None


def _refuse(message: str) -> Rejected:
    return Rejected(_CODE, message)


@contextmanager
def _naming(field: str) -> Iterator[None]:
    """Put the name of the field before what is wrong with its expression."""
    try:
        yield
    except Rejected as fault:
        raise Rejected(fault.code, f"{field}: {fault.message}", **fault.details) from None


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _refuse(f"the {what} {name!r} stands twice")
        seen.add(name)


def _check_names(problem: "Problem") -> None:
    _check_unique("parameter", (parameter.name for parameter in problem.parameters))
    _check_unique("case id", (case.id for case in problem.cases))
    arguments = [tensor.name for tensor in problem.tensors] + [scalar.name for scalar in problem.scalars]
    _check_unique("argument", arguments)
    sizes = {parameter.name for parameter in problem.parameters}
    for tensor in problem.tensors:
        if tensor.name in sizes:
            raise _refuse(f"{tensor.name!r} is both a tensor and a parameter")
    if not problem.outputs:
        raise _refuse("no tensor has the role out")
    for case in problem.cases:
        if case.distribution not in DISTRIBUTIONS:
            known = ", ".join(DISTRIBUTIONS)
            raise _refuse(f"case {case.id!r} has the unknown distribution {case.distribution!r}; known: {known}")


def _check_parameters(problem: "Problem") -> None:
    for parameter in problem.parameters:
        if not parameter.min <= parameter.default <= parameter.max:
            raise _refuse(f"parameter {parameter.name!r} does not keep min <= default <= max")


def _check_expressions(problem: "Problem") -> None:
    known = {parameter.name for parameter in problem.parameters}
    uses: list[tuple[str, str | int]] = [
        ("flops", problem.flops),
        ("bytes_min", problem.bytes_min),
        ("memory_bytes", problem.memory_bytes),
        ("tolerance.terms", problem.tolerance.terms),
    ]
    uses += [(f"the shape of {tensor.name!r}", extent) for tensor in problem.tensors for extent in tensor.shape]
    uses += [
        (f"the value of {scalar.name!r}", scalar.value)
        for scalar in problem.scalars
        if isinstance(scalar.value, str)
    ]
    for what, expression in uses:
        with _naming(what):
            unknown = sorted(names_in(expression) - known)
        if unknown:
            raise _refuse(f"{what} uses {unknown[0]!r}, which is no parameter")


def _check_hidden(problem: "Problem") -> None:
    bounds = {parameter.name: parameter for parameter in problem.parameters}
    for name, (low, high) in problem.hidden.ranges.items():
        if name not in bounds:
            raise _refuse(f"hidden.ranges names {name!r}, which is no parameter")
        if not bounds[name].min <= low <= high <= bounds[name].max:
            raise _refuse(f"hidden.ranges of {name!r} is not within [{bounds[name].min}, {bounds[name].max}]")
    if problem.hidden.count and not problem.hidden.ranges:
        raise _refuse("hidden.count is not zero, but hidden.ranges is empty")


def _check_tolerance(problem: "Problem") -> None:
    floats = all(is_float(tensor.dtype) for tensor in problem.outputs)
    if problem.tolerance.kind != "exact" and not floats:
        raise _refuse(f"tolerance {problem.tolerance.kind!r} is for fp outputs: integer outputs are exact")


def _all_dims(problem: "Problem") -> list[tuple[str, Mapping[str, int]]]:
    defaults = {parameter.name: parameter.default for parameter in problem.parameters}
    corners = [
        {**defaults, **{name: span[side] for name, span in problem.hidden.ranges.items()}} for side in (0, 1)
    ]
    return [
        *((f"case {case.id!r}", case.dims) for case in problem.cases),
        ("dry_run", problem.dry_run),
        ("the parameters' defaults", defaults),
        ("hidden.ranges, low", corners[0]),
        ("hidden.ranges, high", corners[1]),
    ]


def _check_dims(problem: "Problem", label: str, dims: Mapping[str, int]) -> None:
    known = {parameter.name for parameter in problem.parameters}
    if set(dims) != known:
        raise _refuse(f"{label} must give exactly the dims {', '.join(sorted(known))}")
    for parameter in problem.parameters:
        if not parameter.min <= dims[parameter.name] <= parameter.max:
            raise _refuse(
                f"{label} has {parameter.name} = {dims[parameter.name]}, "
                f"outside [{parameter.min}, {parameter.max}]"
            )


def _check_sizes(problem: "Problem", label: str, dims: Mapping[str, int]) -> None:
    for tensor in problem.tensors:
        with _naming(f"at {label} the shape of {tensor.name!r}"):
            shape = [evaluate(extent, dims) for extent in tensor.shape]
        if any(extent < 0 for extent in shape):
            raise _refuse(f"at {label} tensor {tensor.name!r} has the shape {shape}")
    for what, value_at in (
        ("flops", problem.flops_of),
        ("bytes_min", problem.bytes_min_of),
        ("tolerance.terms", problem.tolerance_terms),
        ("memory_bytes", problem.memory_bytes_of),
    ):
        with _naming(f"at {label} {what}"):
            value = value_at(dims)
        if value < 0:
            raise _refuse(f"at {label} {what} is {value}")
    needed = problem.tensor_bytes_of(dims)
    if problem.memory_bytes_of(dims) < needed:
        raise _refuse(f"at {label} memory_bytes is under the {needed} bytes that the tensors need")
    for scalar in problem.scalars:
        _check_scalar(scalar, _scalar_value(scalar, dims, label), label)


def _scalar_value(scalar: "Scalar", dims: Mapping[str, int], label: str) -> int | float:
    with _naming(f"at {label} the value of {scalar.name!r}"):
        return evaluate(scalar.value, dims) if isinstance(scalar.value, str) else scalar.value


def _check_scalar(scalar: "Scalar", value: int | float, label: str) -> None:
    if is_float(scalar.dtype):
        return
    low, high = integer_range(scalar.dtype)
    if isinstance(scalar.value, float) or not low <= value <= high:
        size = DTYPE_BYTES[scalar.dtype]
        raise _refuse(f"at {label} scalar {scalar.name!r} = {scalar.value} is no {scalar.dtype} ({size} bytes)")
