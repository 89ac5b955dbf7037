"""A CUDA package's run without a GPU: what it tells, what it refuses, and that it never has a time."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from native_bench.gpu.dry_run import DRY_RUN
from native_bench.job import Contestant, Job
from native_bench.local_job import Options, local_job
from native_bench.run import run_job
from native_bench.table import result_text
from tests.unit.native_bench.conftest import Heard

pytestmark = pytest.mark.sandbox

SAXPY = "sm_90/Vector/saxpy/fp32/reference_impl"
SOURCE = "src/saxpy.cu"
HONEST = "if (i < n) z[i] = a * x[i] + y[i];"

Dry = Callable[..., dict[str, Any]]


def source(body: str, before: str = "") -> str:
    return f"""
{before}
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, long long n) {{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    {body}
}}
"""


@pytest.fixture(scope="module")
def dry(tmp_path_factory: pytest.TempPathFactory) -> Dry:
    """Dry-run the plain saxpy with another source, its launch changed where `launch` says so."""
    cache: Path = tmp_path_factory.mktemp("dry-run-cache")
    job = local_job(SAXPY, Options("check", cache))

    def run(body: str, before: str = "", launch: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        return run_job(_with_source(job, source(body, before), launch or {}, **changes), Heard())

    return run


def _with_source(job: Job, text: str, launch: dict[str, Any], **changes: Any) -> Job:
    description = job.candidate.description
    [first] = description.launches
    launches = (replace(first, kernel="saxpy", **launch),)
    described = replace(description, entry_source=SOURCE, launches=launches)
    files = {path: data for path, data in job.candidate.files.items() if not path.endswith(".cu")}
    return replace(job, candidate=Contestant({**files, SOURCE: text.encode()}, described, None), **changes)


def test_it_passes_a_right_kernel_on_evidence_of_emulation(dry: Dry) -> None:
    result = dry(HONEST)
    assert (result["verdict"], result["code"], result["evidence"]) == ("ok", "run:ok", "emulated")
    told = result["details"][DRY_RUN]
    assert told["is_decided"]
    assert 0 <= told["max_scaled_error"] <= 1
    assert result["stage"] == "report"


def test_it_reports_on_three_archs(dry: Dry) -> None:
    static = dry(HONEST)["details"]["static"]
    assert static["evidence"] == "static"
    assert {kernel["arch"] for kernel in static["kernels"]} == {"sm_80", "sm_90", "sm_100"}
    assert all(kernel["registers"] > 0 for kernel in static["kernels"])
    assert static["not_built"] == {}


def test_it_has_no_time_anywhere(dry: Dry) -> None:
    result = dry(HONEST)
    assert result["cases"] == []
    assert result["samples"] == ""
    del result["stages_ms"]
    assert not [word for word in json.dumps(result).split('"') if word.endswith("_ns") and word != "timeout_ns"]


def test_it_names_the_first_wrong_element(dry: Dry) -> None:
    result = dry("if (i < n - 1) z[i] = a * x[i] + y[i]; else if (i < n) z[i] = 0;")
    assert (result["verdict"], result["code"]) == ("wrong_result", "check:wrong-result")
    first = result["details"]["first_wrong"]
    assert (first["case"], first["index"], first["got"]) == (DRY_RUN, [999], 0.0)


@pytest.mark.parametrize(
    ("body", "before", "verdict", "code"),
    [
        ("if (i <= n) z[i] = a * x[i] + y[i];", "", "crashed", "check:out-of-bounds"),
        (f"{HONEST} if (i == 0) ((float*)x)[0] = 1;", "", "crashed", "check:read-only"),
        (
            "__shared__ float s[256]; s[threadIdx.x] = x[i < n ? i : 0]; "
            "if (i < n) z[i] = s[threadIdx.x ^ 64] * 0 + a * x[i] + y[i];",
            "",
            "nondeterministic",
            "check:shared-race",
        ),
        (f"{HONEST} if (i < n) z[0] = z[0] + 0 * i;", "", "nondeterministic", "check:global-race"),
    ],
)
def test_it_tells_what_a_kernel_does_wrong_and_where(
    dry: Dry, body: str, before: str, verdict: str, code: str
) -> None:
    result = dry(body, before)
    assert (result["verdict"], result["code"]) == (verdict, code), result["message"]
    fault = result["details"]["fault"]
    assert fault["file"] == SOURCE
    assert fault["line"] == 5
    assert len(fault["block"]) == len(fault["thread"]) == 3


def test_it_counts_what_it_does_not_know_against_nobody(dry: Dry) -> None:
    result = dry(f'asm volatile("fence.proxy.async;"); {HONEST}')
    assert (result["verdict"], result["evidence"]) == ("ok", "emulated")
    told = result["details"][DRY_RUN]
    assert not told["is_decided"]
    assert "fence" in told["undecided"]
    assert "max_scaled_error" not in told


def test_it_compares_arguments_with_the_compiled_kernel(dry: Dry) -> None:
    result = dry(HONEST, launch={"args": ("x", "y", "z", "a", {"i32": 1000})})
    assert (result["verdict"], result["code"]) == ("build_failed", "build:signature")
    assert "argument 4" in result["message"]


def test_it_refuses_what_a_cubin_may_not_hold(dry: Dry) -> None:
    body = f"if (i == 0) kept = x[0]; {HONEST} if (i < n) z[i] += 0 * kept;"
    result = dry(body, before="__device__ float kept;")
    assert (result["verdict"], result["code"]) == ("inspect_refused", "inspect:device-memory")


def test_it_tells_the_compilers_first_error(dry: Dry) -> None:
    result = dry("z[i] = nowhere;")
    assert (result["verdict"], result["code"]) == ("build_failed", "build:compile-error")
    assert "nowhere" in result["message"]


def test_it_times_nothing(dry: Dry) -> None:
    result = dry(HONEST, kind="measure", mode="ranked", processes=1)
    assert (result["verdict"], result["code"]) == ("infra_error", "prepare:no-gpu")


def test_it_shows_a_terminal_what_it_knows(dry: Dry) -> None:
    text = result_text(SAXPY, dry(HONEST), {})
    assert "compiled, not run (static)" in text
    assert "sm_100" in text
    assert "dry run (emulated) at n=1000: right" in text
    undecided = result_text(SAXPY, dry(f'asm volatile("fence.proxy.async;"); {HONEST}'), {})
    assert "not decided: not emulated" in undecided
    assert f"{SOURCE}:5" in undecided
