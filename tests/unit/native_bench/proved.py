"""A problem that is proved, small enough to plant faults in; another with integers and two outputs."""

from pathlib import Path

PROBLEM_YAML = """
schema_version: 1
version: 1
title: Scaled vector addition
description: z = a*x + y
parameters: [{name: n, label: Length, min: 0, max: 100000000000000, default: 640}]
tensors:
  - {name: x, role: in, dtype: fp32, shape: [n]}
  - {name: y, role: in, dtype: fp32, shape: [n]}
  - {name: z, role: out, dtype: fp32, shape: [n]}
scalars:
  - {name: a, dtype: fp32, value: 2.5}
cases: [{id: n640, dims: {n: 640}, distribution: uniform, weight: 1}]
dry_run: {dims: {n: 1000}}
hidden: {count: 2, ranges: {n: [1, 700]}}
tolerance: {kind: bound, terms: 2, accumulate: fp32, c: 8}
flops: 2*n
bytes_min: 12*n
unit: fp32_fma
mode: hot
timeout_s: 1
memory_bytes: 12*n
must_fail: [zeros, copy_input, missing_last, missing_row, off_by_one, lower_precision, stale, nan_one, without_y]
"""

REFERENCE_PY = """
import numpy as np

DISTRIBUTIONS = ("uniform", "cancelling", "integers")
EXACT = ("integers",)


def inputs(dims, distribution, rng):
    n = dims["n"]
    if distribution == "integers":
        return {"x": 2.0 * rng.integers(-3, 4, n), "y": rng.integers(-3, 4, n)}
    x = rng.random(n) * 2 - 1
    return {"x": x, "y": x * -2.4999 if distribution == "cancelling" else rng.random(n)}


def reference(inputs, scalars):
    product = scalars["a"] * inputs["x"]
    return {"z": (product + inputs["y"], np.abs(product) + np.abs(inputs["y"]))}


def separate(inputs, scalars):
    return {"z": np.float32(scalars["a"]) * inputs["x"] + inputs["y"]}


def fused(inputs, scalars):
    return {"z": scalars["a"] * inputs["x"].astype(np.float64) + inputs["y"]}


def split(inputs, scalars):
    x = inputs["x"]
    return {"z": (x + x) + (x * np.float32(0.5) + inputs["y"])}


VARIANTS = {"separate": separate, "fused": fused, "split": split}
MUTANTS = {"without_y": lambda inputs, scalars: {"z": np.float32(scalars["a"]) * inputs["x"]}}
"""

SUMS_YAML = """
schema_version: 1
version: 1
title: Column sums and the transposed
description: total[c] = sum of x[r][c]; t = x transposed
parameters:
  - {name: rows, label: Rows, min: 1, max: 1000, default: 5}
  - {name: cols, label: Columns, min: 1, max: 1000, default: 7}
tensors:
  - {name: x, role: in, dtype: i32, shape: [rows, cols]}
  - {name: total, role: out, dtype: i64, shape: [cols]}
  - {name: t, role: out, dtype: i32, shape: [cols, rows]}
cases: [{id: small, dims: {rows: 5, cols: 7}, distribution: integers, weight: 1}]
hidden: {count: 0, ranges: {}}
tolerance: {kind: exact}
flops: rows*cols
bytes_min: 8*rows*cols + 8*cols
unit: fp32_fma
mode: hot
timeout_s: 1
memory_bytes: 8*rows*cols + 8*cols
must_fail: [zeros, copy_input, mean, missing_last, missing_row, off_by_one, transposed, stale, scaled]
"""

SUMS_PY = """
import numpy as np

DISTRIBUTIONS = ("integers",)
EXACT = ("integers",)
VARIANTS = {"plain": lambda inputs, scalars: {"total": inputs["x"].sum(0), "t": inputs["x"].T}}


def inputs(dims, distribution, rng):
    return {"x": rng.integers(-(2**30), 2**30, (dims["rows"], dims["cols"]))}


def reference(inputs, scalars):
    x = inputs["x"].astype(np.int64)
    return {"total": (x.sum(0), 1), "t": (x.T, 1)}
"""


def write_problem(
    root: Path, name: str, problem_yaml: str = PROBLEM_YAML, reference_py: str = REFERENCE_PY
) -> Path:
    """Write one problem under a folder of problems; return that folder."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "problem.yaml").write_text(problem_yaml)
    (folder / "reference.py").write_text(reference_py)
    return root
