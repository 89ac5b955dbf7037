"""A result as a person reads it in a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from native_bench.contract import dims_text
from native_bench.gpu.static_report import report_text
from submissions.evaluation.statistics import Interval, combine_cases, ratio_interval, time_interval


def result_text(kernel_id: str, result: Mapping[str, Any], weights: Mapping[str, float]) -> str:
    """Return the verdict, the table of cases, and what helps when the run did not end well."""
    lines = [f"{kernel_id}: {result['verdict']}" + (f" ({result['code']})" if result["verdict"] != "ok" else "")]
    if result["message"]:
        lines.append(result["message"])
    timed = [case for case in result["cases"] if "log_ratio" in case]
    if timed:
        lines += ["", *_rows(timed)]
        overall = combine_cases([(weights[case["id"]], case["log_ratio"]["baseline"]) for case in timed])
        lines += ["", f"speed-up over the baseline: {ratio_text(ratio_interval(overall))}"]
    lines += _cuda_lines(result["details"])
    if result["verdict"] == "build_failed":
        lines += ["", str(result["details"].get("compile_log", ""))]
    stages = ", ".join(f"{name} {ms:.0f} ms" for name, ms in result["stages_ms"].items())
    return "\n".join([*lines, "", f"stages: {stages}"])


def _cuda_lines(details: Mapping[str, Any]) -> list[str]:
    """Say what is known of a CUDA kernel without a GPU; nothing of a native one."""
    lines: list[str] = []
    if "static" in details:
        lines += ["", "compiled, not run (static):", "", report_text(details["static"]).rstrip()]
    if "dry_run" in details:
        told = details["dry_run"]
        judged = (
            f"right, {told['max_scaled_error']:.2g} of the error that is allowed"
            if told["is_decided"]
            else f"not decided: {told['undecided']}"
        )
        lines += ["", f"dry run (emulated) at {dims_text(told['dims'])}: {judged}"]
    return lines


def _rows(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [f"{'case':<16} {'time':>12} {'baseline':>12} {'speed-up':>26} {'batch':>6} {'rounds':>6} {'error':>8}"]
    for case in cases:
        ratio = ratio_text(ratio_interval(case["log_ratio"]["baseline"]))
        own, base = (time_text(time_interval(case[name])) for name in ("t_min_ns", "base_t_min_ns"))
        rows.append(
            f"{case['id']:<16} {own:>12} {base:>12} {ratio:>26} {case['batch_n']:>6} {case['rounds']:>6} "
            f"{case['max_scaled_error']:>8.2f}"
        )
    return rows


def ratio_text(interval: Interval) -> str:
    """Return `1.310 [1.290, 1.330] ×`."""
    return f"{interval.value:.3f} [{interval.lo:.3f}, {interval.hi:.3f}] ×"


def time_text(interval: Interval) -> str:
    """Return a time given in ns with the unit that suits it."""
    for unit, factor in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if interval.value < 1000 * factor:
            return f"{interval.value / factor:.4g} {unit}"
    return f"{interval.value / 1e9:.4g} s"
