"""From an upload to a rank, or to a reason: the walk on a real site, with real compilers and clocks."""

import json

import pytest

from tests.e2e.site import saxpy_package

pytestmark = pytest.mark.e2e

SIGNATURE = "const float* x, const float* y, float* z, float a, int64_t n"
WRONG = {
    "wrong_result": "for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i] + (i == 3 ? 1.0f : 0.0f);",
    "build_failed": "undeclared_name = 1;",
    "timed_out": "volatile int64_t i = 0; for (;;) { i = i + 1; }",
    "crashed": "volatile float* nowhere = nullptr; *nowhere = a;",
}


def source(body="for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];"):
    return f'#include <cstdint>\nextern "C" void saxpy({SIGNATURE}) {{ {body} }}\n'


def ledger_of(site, submission):
    names = site.git("ls-tree", "-r", "--name-only", "ledger").split()
    mine = [name for name in names if f"/{submission}/" in name]
    return {name.rpartition("/")[2]: name for name in mine if "/source/" not in name}


def test_it_ranks_every_starter_kernel(site, arch):
    kernels = site.index()
    boards = {kernel_id.rsplit("/", 1)[0] for kernel_id in kernels}
    assert {f"{arch}/Vector/saxpy/fp32", f"{arch}/GEMM/nn/fp32", f"{arch}/Softmax/rows/fp32"} <= boards
    for kernel_id, kernel in kernels.items():
        speedup = kernel["speedup"]
        assert speedup["lo"] <= speedup["value"] <= speedup["hi"]
        assert kernel["rank"] >= 1
        if kernel_id.endswith("/reference_impl"):
            assert speedup["lo"] < 1.02 and speedup["hi"] > 0.98
    for board in (f"{arch}/GEMM/nn/fp32", f"{arch}/Softmax/rows/fp32"):
        best = max(kernel["speedup"]["lo"] for name, kernel in kernels.items() if name.startswith(board))
        assert best > 1.0, f"no starter kernel of {board} is clearly faster than its baseline"


def test_it_publishes_a_right_kernel_and_declines_it_again(site, arch):
    main, ledger = (int(site.git("rev-list", "--count", branch)) for branch in ("main", "ledger"))
    kernel_id, files = saxpy_package("entrant-loop", source(), arch)
    first = site.finished(site.submit(kernel_id, files))
    assert (first["state"], first["code"]) == ("published", "decision:new-kernel")
    assert int(site.git("rev-list", "--count", "main")) == main + 2
    assert int(site.git("rev-list", "--count", "ledger")) == ledger + 1
    bench, package = site.git("log", "-2", "--format=%s", "main").splitlines()
    assert package == f"source: {kernel_id}" and bench.startswith(f"bench: {kernel_id} ")
    assert f"Zoo-Submission: {first['uuid']}" in site.git("log", "-1", "--format=%B", "main")
    assert site.index()[kernel_id]["rank"] >= 1

    again = site.finished(site.submit(kernel_id, files))
    assert (again["state"], again["code"]) == ("declined", "decision:same-source")
    assert again["uuid"] != first["uuid"]
    assert "decision.json" in ledger_of(site, again["uuid"])


def test_it_shares_a_rank_between_two_names_of_one_kernel(site, arch):
    ids = []
    for name in ("twin-a", "twin-b"):
        kernel_id, files = saxpy_package(name, source(), arch)
        assert site.finished(site.submit(kernel_id, files))["state"] == "published"
        ids.append(kernel_id)
    index = site.index()
    assert index[ids[0]]["rank"] == index[ids[1]]["rank"]


@pytest.mark.parametrize("verdict", WRONG)
def test_it_says_why_a_kernel_fails(site, arch, verdict):
    kernel_id, files = saxpy_package(f"bad-{verdict.replace('_', '-')}", source(WRONG[verdict]), arch)
    status = site.finished(site.submit(kernel_id, files))
    assert (status["state"], status["run"]["verdict"]) == ("failed", verdict)
    help_for = status["details"]
    if verdict == "wrong_result":
        assert help_for["first_wrong"]["index"] == [3]
    if verdict == "build_failed":
        assert "undeclared_name" in help_for["compile_errors"][0]["message"]
    if verdict == "crashed":
        assert help_for["signal"] == "SIGSEGV"
    records = ledger_of(site, status["uuid"])
    run = json.loads(site.git("show", f"ledger:{records['run-1.json']}"))
    assert run["verdict"] == verdict
    assert kernel_id not in site.index()


def test_it_rejects_a_broken_package_with_a_code(site, arch):
    kernel_id, files = saxpy_package("no-source", source(), arch)
    del files["src/saxpy.cpp"]
    status = site.finished(site.submit(kernel_id, files))
    assert (status["state"], status["code"]) == ("rejected", "package:entry-missing")
    assert "submission.json" in ledger_of(site, status["uuid"])


def test_it_checks_without_ranking(site, arch):
    kernel_id, files = saxpy_package("only-checked", source(), arch)
    status = site.finished(site.submit(kernel_id, files, mode="check"))
    assert (status["state"], status["run"]["verdict"]) == ("checked", "ok")
    assert kernel_id not in site.index()


def test_it_keeps_a_readable_history(site):
    history = site.git("log", "--stat", "main")
    assert "bench_result.yaml" in history and "Zoo-Submission: " in history
    assert site.git("fsck", "--strict") == ""


def test_it_answers_every_page(site, arch):
    for page in (
        "/", "/submit", "/queue", "/runners", "/submissions/", "/admin/login/",
        f"/boards/{arch}/GEMM/nn/fp32", "/problems/GEMM/nn/fp32", f"/kernels/{arch}/GEMM/nn/fp32/reference_impl",
        "/api/health", "/api/problems", f"/api/boards/{arch}/GEMM/nn/fp32", "/api/kernels", "/api/queue",
    ):  # fmt: skip
        assert site.get(page), page
