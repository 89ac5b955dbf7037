"""Every way a run can end, by kernels that end it so; the honest twin stands first."""

import pytest

from tests.unit.native_bench.conftest import HONEST, SECRET, Judge, kernel

pytestmark = pytest.mark.sandbox


def test_it_accepts_the_honest_kernel(judge: Judge) -> None:
    result = judge(HONEST)
    assert (result["verdict"], result["code"], result["stage"]) == ("ok", "run:ok", "report")
    assert [case["id"] for case in result["cases"]] == ["n640"]
    assert 0 <= result["cases"][0]["max_scaled_error"] <= 0.25


def test_it_tells_the_first_wrong_element(judge: Judge) -> None:
    result = judge(kernel("LOOP if (n > 100) z[100] += 1;"))
    assert (result["verdict"], result["code"], result["stage"]) == ("wrong_result", "check:wrong-result", "check")
    first = result["details"]["first_wrong"]
    assert (first["case"], first["tensor"], first["index"]) == ("n640", "z", [100])
    assert first["got"] == pytest.approx(first["expected"] + 1, rel=1e-6)
    assert 0 < first["allowed"] < 1e-5


def test_it_reports_the_first_compile_error(judge: Judge) -> None:
    result = judge(kernel("z[0] = undeclared;"))
    assert (result["verdict"], result["code"], result["stage"]) == ("build_failed", "build:compile-error", "build")
    first = result["details"]["compile_errors"][0]
    assert (first["file"], first["line"]) == ("src/kernel.cpp", 3)
    assert "undeclared" in first["message"]
    assert "undeclared" in result["message"]
    assert "/src/" not in result["details"]["compile_log"]


def test_it_reports_an_entry_that_is_not_defined(judge: Judge) -> None:
    result = judge("// kernel\n")
    assert (result["verdict"], result["code"]) == ("build_failed", "build:compile-error")
    assert "undefined reference to `kernel'" in result["message"]


def test_it_stops_an_endless_loop(judge: Judge) -> None:
    result = judge(kernel("for (volatile int i = 0;; ++i) {}"))
    assert (result["verdict"], result["code"]) == ("timed_out", "check:timed-out")
    assert result["details"]["limit"] == "1 s"


@pytest.mark.parametrize(
    ("body", "signal"),
    [
        ("*(volatile int*)16 = 1;", "SIGSEGV"),
        ("__builtin_trap();", "SIGILL"),
        ("volatile std::int64_t none = 0; z[0] = float(n / none);", "SIGFPE"),
    ],
)
def test_it_names_the_signal_of_a_crash(judge: Judge, body: str, signal: str) -> None:
    result = judge(kernel(body))
    assert (result["verdict"], result["code"]) == ("crashed", "check:crashed")
    assert result["details"]["signal"] == signal
    assert signal in result["message"]


def test_it_stops_endless_recursion(judge: Judge) -> None:
    source = kernel(
        "z[0] = deep(x, n);",
        "[[gnu::noinline]] float deep(const float* x, std::int64_t n) "
        "{ volatile float pad[1024]; pad[n & 1023] = x[0]; return deep(x, n + 1) + pad[7]; }",
    )
    assert judge(source)["verdict"] == "crashed"


def test_it_finds_results_that_change_with_the_address(judge: Judge) -> None:
    result = judge(kernel("LOOP z[0] += 1e-8f * float(reinterpret_cast<std::uintptr_t>(z) >> 6 & 63);"))
    assert result["verdict"] in ("nondeterministic", "wrong_result")


def test_it_blames_itself_for_a_reference_that_fails(judge: Judge) -> None:
    broken = b"def inputs(dims, distribution, rng):\n    raise ValueError('no inputs today')\n"
    result = judge(HONEST, reference_py=broken)
    assert (result["verdict"], result["code"]) == ("infra_error", "check:reference")
    assert "no inputs today" in result["message"]


def test_it_blames_itself_for_a_reference_with_a_nan(judge: Judge) -> None:
    broken = b"""
import numpy as np
def inputs(dims, distribution, rng):
    return {"x": np.zeros(dims["n"], "f4"), "y": np.zeros(dims["n"], "f4")}
def reference(inputs, scalars):
    return {"z": (inputs["x"] * np.nan, inputs["x"])}
"""
    result = judge(HONEST, reference_py=broken)
    assert (result["verdict"], result["code"]) == ("infra_error", "check:reference")


def test_it_never_tells_the_secret(judge: Judge) -> None:
    result = judge(HONEST)
    assert SECRET.hex() not in str(result)
    assert len(result["secret_sha256"]) == 64


def test_it_needs_two_cores_to_time(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_bench.native_run.core_pair", lambda: None)
    result = judge(HONEST, mode="ranked")
    assert (result["verdict"], result["code"], result["stage"]) == ("unstable", "time:needs-two-cores", "time")
    assert "log_ratio" not in result["cases"][0]


def test_it_runs_nothing_without_a_sandbox(judge: Judge) -> None:
    result = judge(HONEST, backend="no-such-backend")
    assert (result["verdict"], result["code"]) == ("infra_error", "prepare:no-sandbox")
