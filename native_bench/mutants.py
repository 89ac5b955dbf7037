"""Wrong results made from an honest one: what no tolerance may let through, whatever the problem."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_bench.cpu.draws import LOWER_PRECISION
from submissions.kernel_package.dtypes import is_float
from submissions.kernel_package.problem import Problem

Values = NDArray[Any]


@dataclass(frozen=True)
class Sample:
    """One output in its shape as an honest kernel leaves it, what the call before left there, and the inputs."""

    honest: Values
    stale: Values
    inputs: tuple[Values, ...]


def _zeros(sample: Sample) -> Values:
    return np.zeros_like(sample.honest)


def _copy_input(sample: Sample) -> Values:
    fitting = [values for values in sample.inputs if values.size == sample.honest.size]
    return np.resize((fitting or sample.inputs)[0], sample.honest.shape)


def _mean(sample: Sample) -> Values:
    return np.full(sample.honest.shape, sample.honest.mean())


def _missing_last(sample: Sample) -> Values:
    changed = sample.honest.copy()
    changed.flat[-1] = 0
    return changed


def _missing_row(sample: Sample) -> Values:
    changed = sample.honest.copy()
    # One element of a vector is `missing_last`: of a vector its last eighth is left out.
    rows = 1 if changed.ndim > 1 else max(1, changed.size // 8)
    changed[-rows:] = 0
    return changed


def _off_by_one(sample: Sample) -> Values:
    return np.roll(sample.honest, 1)


def _transposed(sample: Sample) -> Values:
    return sample.honest.T.reshape(sample.honest.shape)


def _scaled(sample: Sample) -> Values:
    return sample.honest * 1.01


def _stale(sample: Sample) -> Values:
    return sample.stale


def _nan_all(sample: Sample) -> Values:
    return np.full(sample.honest.shape, np.nan)


def _nan_one(sample: Sample) -> Values:
    changed = sample.honest.copy()
    changed.flat[changed.size // 2] = np.nan
    return changed


GENERIC: Mapping[str, Callable[[Sample], Values]] = {
    "zeros": _zeros,
    "copy_input": _copy_input,
    "mean": _mean,
    "missing_last": _missing_last,
    "missing_row": _missing_row,
    "off_by_one": _off_by_one,
    "transposed": _transposed,
    "scaled": _scaled,
    "stale": _stale,
    "nan_all": _nan_all,
    "nan_one": _nan_one,
}
# The last one is the reference child's work: it takes the reference, not its result.
GENERIC_NAMES = (*GENERIC, LOWER_PRECISION.group)


def fits(name: str, dtype: str, shape: tuple[int, ...]) -> bool:
    """Say whether an output of this dtype and shape can have the generic mutant."""
    if name == "transposed":
        return len(shape) == 2
    return is_float(dtype) if name.startswith("nan_") else True


def why_unfit(name: str, problem: Problem) -> str | None:
    """Return why the problem can't have the generic mutant, or None if it can."""
    if name == "transposed" and all(len(tensor.shape) != 2 for tensor in problem.outputs):
        return "no output has two axes"
    if name.startswith("nan_") and not any(is_float(tensor.dtype) for tensor in problem.outputs):
        return "no output is floating-point"
    if name == LOWER_PRECISION.group and not any(is_float(tensor.dtype) for tensor in problem.tensors):
        return "no tensor is floating-point"
    if name == "copy_input" and not problem.inputs:
        return "there is no input"
    return None
