"""The cast: a small board, and a judge that runs a source on it for real."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from native_bench.host import native_arch
from native_bench.job import Contestant, Job
from native_bench.run import run_job
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem import Problem, parse_problem

PROBLEM_ID = ProblemId.parse("Vector/scale/fp32")
SECRET = bytes(range(32))
HIDDEN = ({"n": 1}, {"n": 97})

PROBLEM_YAML = b"""
schema_version: 1
version: 1
title: Scaled sum
description: z = a*x + y
parameters: [{name: n, label: Length, min: 1, max: 100000, default: 640}]
tensors:
  - {name: x, role: in, dtype: fp32, shape: [n]}
  - {name: y, role: in, dtype: fp32, shape: [n]}
  - {name: z, role: out, dtype: fp32, shape: [n]}
scalars:
  - {name: a, dtype: fp32, value: 2.5}
  - {name: n, dtype: i64, value: n}
cases: [{id: n640, dims: {n: 640}, distribution: uniform, weight: 1}]
hidden: {count: 2, ranges: {n: [1, 1000]}}
tolerance: {kind: bound, terms: 2, accumulate: fp32, c: 4}
flops: 2*n
bytes_min: 12*n
unit: fp32_fma
mode: hot
timeout_s: 1
memory_bytes: 12*n
must_fail: [zeros]
"""

REFERENCE_PY = b"""
import numpy as np

DISTRIBUTIONS = ("uniform", "integers")
EXACT = ("integers",)


def inputs(dims, distribution, rng):
    def one():
        if distribution == "integers":
            return rng.integers(-3, 4, dims["n"]).astype(np.float32)
        return rng.random(dims["n"], np.float32) + np.float32(0.5)
    return {"x": one(), "y": one()}


def reference(inputs, scalars):
    product = scalars["a"] * inputs["x"]
    return {"z": (product + inputs["y"], np.abs(product) + np.abs(inputs["y"]))}
"""

SIGNATURE = 'extern "C" void kernel(const float* x, const float* y, float* z, float a, std::int64_t n)'
LOOP = "for (std::int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];"
HONEST = f"#include <cstdint>\n{SIGNATURE} {{ {LOOP} }}\n"


def kernel(body: str, before: str = "") -> str:
    """Return the source of a kernel with this body; LOOP is what does the work."""
    return f"#include <cstdint>\n{before}\n{SIGNATURE} {{ {body.replace('LOOP', LOOP)} }}\n"


def package(source: str, extra: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Return the files of a package with one source."""
    description = f"""
schema_version: 1
kernel_id: {native_arch()}/{PROBLEM_ID}/tried
title: Tried
summary: ""
language: cpp
harness: native
entry: {{source: src/kernel.cpp, symbol: kernel}}
build: {{sources: [src/kernel.cpp], include_dirs: [src], defines: {{}}}}
authors: [tester]
license: MIT
tags: []
created: "2026-01-31"
"""
    return {
        ".kernel_package/desc.yaml": description.encode(),
        "src/kernel.cpp": source.encode(),
        **(extra or {}),
    }


def contestant(source: str) -> Contestant:
    files = package(source)
    return Contestant.of(files, tree_digest(files))


@dataclass
class Heard:
    """A reporter that remembers."""

    stages: list[str] = field(default_factory=list)
    fractions: list[float] = field(default_factory=list)

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def progress(self, fraction: float) -> None:
        self.fractions.append(fraction)

    def log(self, text: str) -> None:
        raise AssertionError(text)


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine-cache")


@pytest.fixture(scope="session")
def problem() -> Problem:
    return parse_problem(PROBLEM_YAML, PROBLEM_ID)


@pytest.fixture(scope="session")
def make_job(cache_dir: Path, problem: Problem) -> Callable[..., Job]:
    def make(source: str, **changes: Any) -> Job:
        values: dict[str, Any] = {
            "run": "test",
            "kind": "measure",
            "mode": "check",
            "problem": problem,
            "reference_py": REFERENCE_PY,
            "processes": 1,
            "candidate": contestant(source),
            "baseline": contestant(HONEST),
            "incumbent": None,
            "secret": SECRET,
            "hidden_dims": HIDDEN,
            "cache_dir": cache_dir,
            **changes,
        }
        return Job(**values)

    return make


Judge = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def judge(make_job: Callable[..., Job]) -> Judge:
    """Build and check a source (mode check), or time it too (mode ranked)."""

    def run(source: str, **changes: Any) -> dict[str, Any]:
        return run_job(make_job(source, **changes), Heard())

    return run
