"""The starter problems' tolerances: a plain fp32 computation passes with room, every declared mutant fails."""

import runpy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from native_bench.cpu.bounds import Judge
from native_bench.starter import PROBLEMS, problems
from submissions.kernel_package.problem import Problem, parse_problem

BOARDS = [(parse_problem(files["problem.yaml"], problem_id), problem_id) for problem_id, files in problems()]
Values = dict[str, np.ndarray]


def honest(problem: Problem, inputs: Values) -> np.ndarray:
    """Return the result in fp32, in NumPy's order of summation."""
    if problem.id.op_class == "GEMM":
        return inputs["a"] @ inputs["b"]
    if problem.id.op_class == "Softmax":
        powers = np.exp(inputs["x"] - inputs["x"].max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True, dtype=np.float32)
    return np.float32(2.5) * inputs["x"] + inputs["y"]


def with_last(values: np.ndarray, last: float) -> np.ndarray:
    changed = values.copy()
    changed.reshape(-1)[-1] = last
    return changed


MUTANTS: dict[str, Callable[[np.ndarray, Values, np.ndarray], np.ndarray]] = {
    "zeros": lambda right, inputs, other: np.zeros_like(right),
    "copy_input": lambda right, inputs, other: inputs["x"],
    "missing_last": lambda right, inputs, other: with_last(right, 0.0),
    "off_by_one": lambda right, inputs, other: np.roll(right.reshape(-1), 1).reshape(right.shape),
    "transposed": lambda right, inputs, other: np.ascontiguousarray(right.T).reshape(right.shape),
    "lower_precision": lambda right, inputs, other: right.astype(np.float16).astype(np.float32),
    "stale": lambda right, inputs, other: other,
    "nan_one": lambda right, inputs, other: with_last(right, np.nan),
}


@pytest.mark.parametrize(("problem", "problem_id"), BOARDS, ids=[str(board[1]) for board in BOARDS])
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_its_mutants_fail_and_the_honest_pass(problem: Problem, problem_id: object) -> None:
    module = runpy.run_path(str(PROBLEMS / str(problem_id) / "reference.py"))
    caught = dict.fromkeys(problem.must_fail, 0)
    for number, distribution in enumerate(module["DISTRIBUTIONS"]):
        judge, inputs, right = drawn(problem, module, distribution, number)
        _, _, other = drawn(problem, module, distribution, number + 100)
        assert judge.first_wrong(as_bytes(right)) is None, distribution
        assert judge.scaled_error(as_bytes(right)) <= 0.25 or judge.is_exact
        assert not judge.breaks_guard(as_bytes(right))
        for name in problem.must_fail:
            mutant = MUTANTS[name](right, inputs, other)
            caught[name] += judge.first_wrong(as_bytes(mutant)) is not None
    assert all(count > 0 for count in caught.values()), caught
    assert all(caught[name] == len(module["DISTRIBUTIONS"]) for name in ("zeros", "stale", "nan_one")), caught


def drawn(
    problem: Problem, module: dict[str, Any], distribution: str, seed: int
) -> tuple[Judge, Values, np.ndarray]:
    dims = problem.dry_run
    inputs = module["inputs"](dims, distribution, np.random.default_rng(seed))
    wide = {name: values.astype(np.float64) for name, values in inputs.items()}
    ((reference, terms),) = module["reference"](wide, problem.scalar_values(dims)).values()
    is_exact = distribution in module["EXACT"]
    judge = Judge(problem, "fp32", dims, is_exact, reference.ravel(), np.asarray(terms).ravel())
    return judge, inputs, honest(problem, inputs)


def as_bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32).ravel().view(np.uint8)
