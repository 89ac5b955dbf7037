"""What of hidden cases gets out, which is that one failed, and how their sizes are drawn."""

import json
import math
import platform
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from native_bench.cpu.check import check_items
from native_bench.cpu.draws import distributions_of
from native_bench.hidden import fresh_dims, hidden_dims
from native_bench.job import Job
from native_bench.run import run_job
from submissions.kernel_package.problem import Hidden, Problem
from tests.unit.native_bench.conftest import HIDDEN, HONEST, REFERENCE_PY, SECRET, Heard, Judge, kernel

SYSTEM_CALL = (
    'asm volatile("mov $41, %%eax; jmp 1f + 1\\n1: .byte 0xb8, 0x0f, 0x05, 0x90, 0x90\\n"'
    ' ::: "rax", "rcx", "r11", "memory");'
)
FAILURES = {
    "a wrong element": "z[5] = 0;",
    "a crash": "*(volatile int*)0 = 0;",
    "an endless loop": "for (volatile int i = 0;; ++i) {}",
    "a write behind the output": "z[n] = 0;",
    "a result that changes with the address":
        "z[0] += 1e-8f * float(reinterpret_cast<std::uintptr_t>(z) >> 6 & 63);",
}  # fmt: skip


def told(result: dict[str, Any]) -> str:
    """What of a result the case that failed could have a say in: neither what the compiler said nor durations."""
    parts = {name: result[name] for name in ("verdict", "code", "message", "stage", "cases", "processes")}
    details = {**result["details"], "compile_log": "", "build_cached": False}
    return json.dumps([parts, details, sorted(result["stages_ms"])])


@pytest.mark.sandbox
def test_it_tells_all_failures_of_hidden_cases_alike(judge: Judge) -> None:
    results = {name: judge(kernel(f"LOOP if (n == 97) {{ {does} }}")) for name, does in FAILURES.items()}
    heard = {told(result) for result in results.values()}
    assert len(heard) == 1, results
    result = results["a crash"]
    assert (result["verdict"], result["code"]) == ("wrong_result", "check:hidden-case")
    assert set(result["details"]) == {"build_cached", "compile_log", "hidden"}
    assert "check" not in result["stages_ms"]
    assert "build" in result["stages_ms"]
    assert "97" not in result["message"]
    assert "prime" in result["message"]


@pytest.mark.sandbox
@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86_64 instructions")
def test_it_says_of_a_cheat_in_a_hidden_case_only_that_it_is_suspected(judge: Judge) -> None:
    result = judge(kernel(f"LOOP if (n == 97) {{ {SYSTEM_CALL} }}"))
    plain = judge(kernel("LOOP if (n == 97) z[5] = 1;"))
    assert (result["verdict"], result["code"]) == ("cheat_suspected", "check:hidden-case")
    assert told({**result, "verdict": ""}) == told({**plain, "verdict": ""})


@pytest.mark.sandbox
def test_its_progress_is_the_same_whichever_hidden_case_fails(make_job: Callable[..., Job]) -> None:
    heard = []
    for dims in HIDDEN:
        heard.append(Heard())
        result = run_job(make_job(kernel(f"LOOP if (n == {dims['n']}) z[0] = 0;")), heard[-1])
        assert result["code"] == "check:hidden-case"
    assert heard[0].fractions == heard[1].fractions
    assert heard[0].fractions[-1] < 1.0


@pytest.mark.sandbox
def test_it_tells_no_hidden_size_when_the_reference_fails(judge: Judge) -> None:
    fails = b"""
    if len(inputs["x"]) == 97:
        raise ValueError(f"no room for {len(inputs['x'])} elements")
"""
    marker = b"def reference(inputs, scalars):\n"
    result = judge(HONEST, reference_py=REFERENCE_PY.replace(marker, marker + fails))
    assert (result["verdict"], result["code"]) == ("infra_error", "check:reference")
    assert "ValueError" in result["message"]
    assert "97" not in told(result)


@pytest.mark.sandbox
def test_it_writes_no_secret_to_disk(
    make_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    job = make_job(HONEST)
    items = check_items(job.problem, job.hidden_dims, distributions_of(job.reference_py), SECRET)
    secrets = [SECRET, SECRET.hex().encode(), *(str(item.draw.seed).encode() for item in items)]
    looked: list[str] = []

    class Searcher(Heard):
        def stage(self, name: str) -> None:
            looked.append(name)
            for path in [*tmp_path.rglob("*"), *job.cache_dir.rglob("*")]:
                content = path.read_bytes() if path.is_file() else b""
                assert not [secret for secret in secrets if secret in content], path

    assert run_job(job, Searcher())["verdict"] == "ok"
    assert "check" in looked
    assert list(tmp_path.iterdir()) == []


def test_it_checks_the_versions_hidden_sizes_and_others_of_the_run_alone(problem: Problem) -> None:
    version = tuple({"n": n} for n in (1, 31, 97, 257, 501, 999))
    known = distributions_of(REFERENCE_PY)
    drawn = {}
    for secret in (SECRET, bytes(32), b"another secret of thirty-two b.."):
        items = check_items(problem, version, known, secret)
        drawn[secret] = [item.draw.dims["n"] for item in items if item.case_id is None]
        assert [item.draw.is_hidden for item in items] == [item.case_id is None for item in items]
        assert items == check_items(problem, version, known, secret)
    fresh = {tuple(sorted(set(sizes) - {dims["n"] for dims in version})) for sizes in drawn.values()}
    orders = {tuple(n for n in sizes if {"n": n} in version) for sizes in drawn.values()}
    assert all({dims["n"] for dims in version} < set(sizes) for sizes in drawn.values())
    assert [len(sizes) for sizes in drawn.values()] == [9, 9, 9]
    assert len(fresh) == len(orders) == 3
    assert check_items(problem, (), known, SECRET)[-1].case_id == "n640"


@pytest.mark.parametrize("secret", [bytes([number]) * 32 for number in range(20)])
def test_its_hidden_sizes_are_those_at_which_kernels_break(problem: Problem, secret: bytes) -> None:
    ranges = {"m": (1, 3000), "n": (1, 5000)}
    kinds = hidden_dims(replace(problem, hidden=Hidden(7, ranges)), secret)
    least, under, prime, over, rectangle, beside_power, tile = kinds
    for name in ranges:
        assert least[name] == 1
        assert (under[name] + 1) % 4 == (over[name] - 1) % 4 == tile[name] % 4 == 0
        assert prime[name] > 1
        assert all(prime[name] % factor for factor in range(2, math.isqrt(prime[name]) + 1))
        assert rectangle[name] % 2 == 1
        assert math.log2(beside_power[name] - 1).is_integer()
    assert rectangle["m"] != rectangle["n"]


@pytest.mark.parametrize("bounds", [(24, 28), (2, 2), (1, 2), (1500, 1501)])
def test_its_hidden_sizes_stay_in_a_narrow_range(problem: Problem, bounds: tuple[int, int]) -> None:
    narrow = replace(problem, hidden=Hidden(12, {"n": bounds}))
    for dims in (*hidden_dims(narrow, SECRET), *fresh_dims(narrow, SECRET, 12)):
        assert bounds[0] <= dims["n"] <= bounds[1]
