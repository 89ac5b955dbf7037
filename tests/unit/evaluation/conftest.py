"""The cast: a problem of two cases and the record of a ranked sitting on it."""

from typing import Any

import pytest

from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.problem import Problem, parse_problem
from submissions.kernel_package.strict_yaml import dump_yaml

KERNEL_ID = KernelId.parse("x86_64/Vector/saxpy/fp32/unrolled")
RUN = "11111111-1111-4111-8111-111111111111"
SUBMISSION = "22222222-2222-4222-8222-222222222222"
CANDIDATE, BASELINE, INCUMBENT = "c" * 64, "b" * 64, "1" * 64


@pytest.fixture
def problem() -> Problem:
    document = {
        "schema_version": 1,
        "version": 3,
        "title": "Scaled vector addition",
        "description": "z = a*x + y",
        "parameters": [{"name": "n", "label": "Vector length", "min": 1, "max": 1 << 28, "default": 4096}],
        "tensors": [
            {"name": "x", "role": "in", "dtype": "fp32", "shape": ["n"]},
            {"name": "z", "role": "out", "dtype": "fp32", "shape": ["n"]},
        ],
        "cases": [
            {"id": "small", "dims": {"n": 1000}, "weight": 1},
            {"id": "large", "dims": {"n": 100_000}, "weight": 3},
        ],
        "hidden": {"count": 0, "ranges": {}},
        "tolerance": {"kind": "exact"},
        "flops": "2*n",
        "bytes_min": "8*n",
        "unit": "fp32_fma",
        "mode": "hot",
        "timeout_s": 10,
        "memory_bytes": "8*n",
        "must_fail": ["zeros"],
    }
    return parse_problem(dump_yaml(document), ProblemId.parse("Vector/saxpy/fp32"))


def timed_case(case_id: str, baseline: list[float], incumbent: list[float] | None = None) -> dict[str, Any]:
    return {
        "id": case_id,
        "batch_n": 3,
        "rounds": 40,
        "log_ratio": {"baseline": baseline, "incumbent": incumbent or []},
        "t_min_ns": [1000.0 + number for number in range(len(baseline))],
        "base_t_min_ns": [1300.0 for _ in baseline],
        "max_scaled_error": 0.123456789,
        "handshake_ns": 55.0,
        "t_sol_ns": 500.0,
    }


@pytest.fixture
def record() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "uuid": RUN,
        "kind": "measure",
        "submission": SUBMISSION,
        "attempt": 1,
        "epoch": 1,
        "mode": "ranked",
        "kernel_id": str(KERNEL_ID),
        "problem_id": "Vector/saxpy/fp32",
        "problem_version": 3,
        "runner": {"name": "cpu0", "device": "A CPU", "isolation": "full"},
        "evidence": "measured",
        "verdict": "ok",
        "code": "run:ok",
        "message": "",
        "stage": "report",
        "stages_ms": {"prepare": 1, "build": 700, "check": 90, "time": 1800},
        "secret_sha256": "5" * 64,
        "artifacts": {"log": "6" * 64},
        "contestants": {"candidate": CANDIDATE, "baseline": BASELINE, "incumbent": None},
        "cases": [
            timed_case("small", [0.27, 0.271, 0.269], [0.05, 0.051, 0.049]),
            timed_case("large", [0.31, 0.311, 0.309], [0.06, 0.061, 0.059]),
        ],
        "processes": 3,
        "harness_version": "7" * 64,
        "finished_at": "2026-01-31T12:00:00Z",
        "details": {},
        "environment": {},
        "log": "",
    }
