"""bench_result.yaml: a kernel's standing figures, made from the run record that won it its place."""

from collections.abc import Mapping
from typing import Any

from submissions.evaluation.roofline import sol_score
from submissions.evaluation.speedup import speedup_over
from submissions.evaluation.statistics import Interval, ratio_interval, time_interval
from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.problem import Problem
from submissions.kernel_package.schema import check_schema

_DIGITS = 6


def rounded(value: float) -> float:
    """Return `value` at six significant digits, more than any sitting resolves."""
    return float(f"{value:.{_DIGITS}g}")


def _interval(figure: Interval) -> dict[str, float]:
    return {name: rounded(value) for name, value in figure.as_json().items()}


def unmeasured_bench_result(kernel_id: KernelId, problem_version: int) -> dict[str, Any]:
    """Return the bench_result of a kernel that a maintainer's commit brings in before any run."""
    return {
        "schema_version": 1,
        "kernel_id": str(kernel_id),
        "problem_version": problem_version,
        "status": "unmeasured",
    }


def bench_result(
    record: Mapping[str, Any],
    problem: Problem,
    submission: str | None,
    submitter: str,
    source_commit: str,
    previous: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the document; `previous` is the one it replaces, whose best is kept while it is comparable.

    Raises Broken `bench:no-figures` when the record lacks figures for a case of the problem.
    """
    speedup = speedup_over(record["cases"], problem.weights, "baseline")
    if speedup is None:
        raise Broken("bench:no-figures", f"run {record['uuid']} has no complete figures against the baseline")
    current = {"submission": submission, "speedup": _interval(speedup)}
    runner = record["runner"]
    document = {
        "schema_version": 1,
        "kernel_id": record["kernel_id"],
        "problem_version": record["problem_version"],
        "status": "measured",
        "evidence": record["evidence"],
        "mode": problem.mode,
        "source_commit": source_commit,
        "submission": submission,
        "submitter": submitter,
        "harness_version": record["harness_version"],
        "measured_at": record["finished_at"],
        "runner": {"driver": None, **runner},
        "speedup": _interval(speedup),
        "processes": record["processes"],
        "cases": [_case(case, problem) for case in record["cases"]],
    }
    document["best"] = _best(document, current, previous)
    document["current"] = current
    check_schema(document, "bench_result", f"{record['kernel_id']} bench_result.yaml")
    return document


def _case(figures: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    case = problem.case(figures["id"])
    if case is None:
        raise Broken("bench:no-figures", f"the problem has no case {figures['id']!r}")
    time = time_interval(figures["t_min_ns"])
    t_sol_ns = figures.get("t_sol_ns")
    error = figures.get("max_scaled_error")
    base_time = time_interval(figures["base_t_min_ns"])
    score = sol_score(time.value, base_time.value, t_sol_ns)
    return {
        "id": case.id,
        "t_ns": _interval(time),
        "base_t_ns": _interval(base_time),
        "speedup": _interval(ratio_interval(figures["log_ratio"]["baseline"])),
        # Bytes per ns are GB/s, operations per ns are GFLOP/s.
        "achieved_gbs": rounded(problem.bytes_min_of(case.dims) / time.value),
        "achieved_gflops": rounded(problem.flops_of(case.dims) / time.value),
        "t_sol_ns": None if t_sol_ns is None else rounded(t_sol_ns),
        "bound": figures.get("bound"),
        "sol_level": figures.get("sol_level"),
        "sol_fraction": None if t_sol_ns is None else rounded(t_sol_ns / time.value),
        "sol_score": None if score is None else rounded(score),
        "max_scaled_error": None if error is None else rounded(error),
    }


def _best(
    document: Mapping[str, Any], current: dict[str, Any], previous: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Keep the previous best only if it was measured on the same contract and device, and is higher."""
    if previous is None or previous.get("status") != "measured":
        return current
    is_comparable = (
        previous["problem_version"] == document["problem_version"]
        and previous["runner"]["device"] == document["runner"]["device"]
    )
    best: dict[str, Any] = previous["best"]
    is_higher = best["speedup"]["value"] > current["speedup"]["value"]
    return best if is_comparable and is_higher else current
