"""What stands around the measuring: cache, logs, wrapper, hidden dims, starters, the machine, the table."""

from dataclasses import replace
from pathlib import Path

import pytest

from native_bench.cache import ContentCache, digest_of
from native_bench.cpu.check import check_items
from native_bench.cpu.draws import distributions_of
from native_bench.cpu.sitting import pool_sets
from native_bench.cpu.wrapper import signature, wrapper_source
from native_bench.harness import harness_version
from native_bench.hidden import hidden_dims
from native_bench.host import caches, core_pair, host_record, native_arch, usable_cores
from native_bench.starter import kernels, problems
from native_bench.table import result_text
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.package import check_board, check_package
from submissions.kernel_package.problem import Case, Hidden, Problem, parse_problem
from tests.unit.native_bench.conftest import REFERENCE_PY, SECRET


def test_its_cache_returns_what_was_put_and_drops_what_was_changed(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path)
    key = digest_of(b"a", b"b")
    assert cache.get(key) is None
    folder = cache.put(key, {"kernel.so": b"code"})
    assert cache.put(key, {"kernel.so": b"other"}) == folder
    assert cache.get(key) == folder
    assert (folder / "kernel.so").read_bytes() == b"code"
    (folder / "kernel.so").write_bytes(b"evil")
    assert cache.get(key) is None
    assert not folder.exists()


def test_its_cache_forgets_what_was_used_longest_ago(tmp_path: Path) -> None:
    import os

    cache = ContentCache(tmp_path)
    keys = [digest_of(str(number).encode()) for number in range(3)]
    for age, key in enumerate(keys):
        os.utime(cache.put(key, {"f": b"x" * 1000}), (age, age))
    cache.trim(2400)
    assert [cache.get(key) is not None for key in keys] == [False, True, True]


def test_no_two_lists_of_parts_share_a_digest() -> None:
    assert digest_of(b"ab", b"c") != digest_of(b"a", b"bc")


def test_its_wrapper_declares_what_the_problem_says(problem: Problem) -> None:
    declared = signature(problem, "kernel")
    assert declared == (
        'extern "C" void kernel(const float* x, const float* y, float* z, float a, std::int64_t n)'
    )
    source = wrapper_source(replace(problem, scalars=()), "kernel").decode()
    assert "[[maybe_unused]]" in source
    assert "static_cast<const float*>(tensors[1])" in source


def test_it_reads_distributions_without_running_anything() -> None:
    assert distributions_of(REFERENCE_PY) == (("uniform", "integers"), frozenset({"integers"}))
    assert distributions_of(b"raise SystemExit") == (("uniform",), frozenset())


def test_it_checks_every_case_distribution_and_hidden_shape(problem: Problem) -> None:
    items = check_items(problem, ({"n": 3}, {"n": 5}), distributions_of(REFERENCE_PY), SECRET)
    assert [(item.case_id, item.draw.distribution, item.draw.is_exact) for item in items] == [
        ("n640", "uniform", False),
        ("n640", "integers", True),
        (None, "uniform", False),
        (None, "integers", True),
        (None, "uniform", False),
    ]
    assert len({item.draw.seed for item in items}) == 5
    others = check_items(problem, (), distributions_of(REFERENCE_PY), bytes(32))
    assert others[0].draw.seed != items[0].draw.seed


def test_its_pools_are_deep_for_small_sets_and_shallow_for_large_ones(problem: Problem) -> None:
    assert pool_sets(problem, Case("small", {"n": 100})) == 65
    assert pool_sets(problem, Case("large", {"n": 10_000_000})) == 3


def test_hidden_dims_keep_their_ranges_and_their_secret(problem: Problem) -> None:
    wide = replace(problem, hidden=Hidden(40, {"n": (1, 5000)}))
    drawn = hidden_dims(wide, b"one secret")
    assert drawn == hidden_dims(wide, b"one secret")
    assert drawn != hidden_dims(wide, b"another")
    assert drawn != hidden_dims(replace(wide, version=2), b"one secret")
    assert len(drawn) == 40
    assert drawn[0] == {"n": 1}
    assert all(1 <= dims["n"] <= 5000 for dims in drawn)
    narrow = replace(problem, hidden=Hidden(8, {"n": (3, 3)}))
    assert {dims["n"] for dims in hidden_dims(narrow, b"s")} == {3}


STARTERS = {
    "Vector/add/fp32", "Vector/subtract/fp32", "Vector/multiply/fp32", "Vector/divide/fp32", "Vector/saxpy/fp32",
    "Reduction/sum/fp32", "Reduction/dot/fp32", "Scan/inclusive/i32", "Transpose/2d/fp32", "GEMV/n/fp32",
    "GEMM/nn/fp32", "Conv/conv2d/fp32", "Softmax/rows/fp32", "Norm/layernorm/fp32", "Attention/MHA/fp32",
}  # fmt: skip


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_its_starter_packages_are_valid(arch: str) -> None:
    known = {problem_id: parse_problem(files["problem.yaml"], problem_id) for problem_id, files in problems()}
    assert {str(problem_id) for problem_id in known} == STARTERS
    boards: set[ProblemId] = set()
    for kernel_id, files in kernels(arch):
        package = check_board(check_package(files, kernel_id), known[kernel_id.problem])
        assert package.kernel_id.arch == arch
        assert kernel_id.is_baseline == (kernel_id.problem not in boards)
        boards.add(kernel_id.problem)
    assert boards == set(known)


def test_it_describes_this_machine() -> None:
    record = host_record()
    assert record["cpu"]
    assert record["compilers"]["g++"].startswith("g++")
    assert native_arch() in ("x86_64", "aarch64")
    assert record["cores"] == len(usable_cores())
    assert all(size > 0 for size in caches().values())


@pytest.mark.parametrize("count", [1, 2, 5])
def test_it_parts_timer_and_workers(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("native_bench.host.usable_cores", lambda: tuple(range(count)))
    pair = core_pair()
    assert (pair is None) == (count == 1)
    assert pair is None or pair[0] != pair[1]


def test_its_version_is_a_digest() -> None:
    assert len(harness_version()) == 64


def test_its_table_shows_cases_and_what_went_wrong() -> None:
    case = {
        "id": "n1", "batch_n": 2, "rounds": 40, "max_scaled_error": 0.1, "handshake_ns": 300.0,
        "log_ratio": {"baseline": [0.1, 0.11, 0.12], "incumbent": []},
        "t_min_ns": [2.5e6, 2.6e6, 2.5e6], "base_t_min_ns": [3e9, 3e9, 3.1e9],
    }  # fmt: skip
    result = {
        "verdict": "ok", "code": "run:ok", "message": "", "cases": [case],
        "stages_ms": {"time": 12.0}, "details": {},
    }  # fmt: skip
    text = result_text("x/A/b/c/k", result, {"n1": 1.0})
    assert "2.5 ms" in text
    assert "3 s" in text
    assert "1.116" in text
    failed = {
        **result,
        "verdict": "build_failed",
        "code": "build:compile-error",
        "message": "a.cpp:1:1: no",
        "cases": [],
    }
    failed["details"] = {"compile_log": "the log"}
    text = result_text("x/A/b/c/k", failed, {})
    assert "build_failed (build:compile-error)" in text
    assert "the log" in text
