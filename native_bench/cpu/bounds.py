"""How far an output may be from the float64 truth, per element and as a whole."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from submissions.kernel_package.dtypes import DTYPE_BYTES, is_float
from submissions.kernel_package.problem import Problem

Floats = NDArray[np.float64]

# Unit roundoff, smallest normal number, digits of the significand.
_ROUNDOFF = {"fp64": 2.0**-53, "fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8}
_SMALLEST = {"fp64": 2.0**-1022, "fp32": 2.0**-126, "fp16": 2.0**-14, "bf16": 2.0**-126}
_GUARD = 10.0


@dataclass(frozen=True)
class FirstWrong:
    """The first element that is out of bounds."""

    index: int
    got: float
    expected: float
    allowed: float


@dataclass(frozen=True)
class Judge:
    """The truth of one output: `reference`, and `terms`, the sum of absolute terms behind each element.

    Bound (Higham's probabilistic error of a sum): c (sqrt(K) u_acc) S + 2 u_out |ref| + smallest normal.
    """

    problem: Problem
    dtype: str
    dims: Mapping[str, int]
    is_exact: bool
    reference: NDArray[Any]
    terms: Floats

    @cached_property
    def allowed(self) -> Floats:
        """The greatest error of each element."""
        tolerance = self.problem.tolerance
        if self.is_exact or tolerance.kind == "exact" or not is_float(self.dtype):
            return np.zeros(self.reference.shape)
        size = np.abs(self.reference)
        unit = _ROUNDOFF[self.dtype]
        if tolerance.kind == "ulp":
            exponent = np.floor(np.log2(np.maximum(size, _SMALLEST[self.dtype])))
            ulp: Floats = 2.0 * unit * np.exp2(exponent)
            return tolerance.max * ulp
        growth = math.sqrt(self.problem.tolerance_terms(self.dims)) * _ROUNDOFF[tolerance.accumulate]
        bound: Floats = tolerance.c * growth * self.terms + 2 * unit * size + _SMALLEST[self.dtype]
        return bound

    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the lowest and the highest right value of each element (64-bit integers: the value twice)."""
        if self.reference.dtype.kind in "iu":
            return self.reference.copy(), self.reference.copy()
        return self.reference - self.allowed, self.reference + self.allowed

    def first_wrong(self, output: NDArray[np.uint8]) -> FirstWrong | None:
        """Return the first element out of bounds; a NaN or an infinity always is."""
        values = read_values(output, self.dtype)
        if self.reference.dtype.kind in "iu":
            wrong = np.flatnonzero(values != self.reference)
        else:
            wrong = np.flatnonzero(~(np.abs(values - self.reference) <= self.allowed))
        if wrong.size == 0:
            return None
        at = int(wrong[0])
        return FirstWrong(at, float(values[at]), float(self.reference[at]), float(self.allowed[at]))

    def breaks_guard(self, output: NDArray[np.uint8]) -> bool:
        """Say whether the array as a whole is farther off than many small errors within bounds explain."""
        tolerance = self.problem.tolerance
        if self.is_exact or tolerance.kind != "bound" or not is_float(self.dtype):
            return False
        terms = max(1, self.problem.tolerance_terms(self.dims))
        error = np.linalg.norm(read_values(output, self.dtype) - self.reference)
        size = max(np.linalg.norm(self.reference), np.linalg.norm(self.terms) / math.sqrt(terms))
        growth = math.sqrt(terms) * _ROUNDOFF[tolerance.accumulate] + 2 * _ROUNDOFF[self.dtype]
        slack = _SMALLEST[self.dtype] * math.sqrt(self.reference.size)
        return bool(error > _GUARD * growth * size + slack)

    def scaled_error(self, output: NDArray[np.uint8]) -> float:
        """Return the greatest error over its bound; 0 where everything is exact."""
        if self.reference.size == 0 or self.reference.dtype.kind in "iu":
            return 0.0
        error = np.abs(read_values(output, self.dtype) - self.reference)
        ratio = np.divide(error, self.allowed, out=np.zeros_like(error), where=self.allowed > 0)
        return float(ratio.max())


def read_values(output: NDArray[np.uint8], dtype: str) -> NDArray[Any]:
    """Return stored elements as values: float64, or the integers themselves at 64 bits."""
    if dtype == "bf16":
        return (output.view("u2").astype(np.uint32) << 16).view("f4").astype(np.float64)
    kind = {"fp": "f", "i": "i", "u": "u"}[dtype.rstrip("0123456789")]
    values = output.view(f"{kind}{DTYPE_BYTES[dtype]}")
    return values if dtype in ("i64", "u64") else values.astype(np.float64)
