"""How a worker's death is read, and what the reference child does, without starting either."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from native_bench.cpu import reference_child
from native_bench.cpu.worker import end_before_seat, end_by_death, end_by_limit
from native_bench.memory import SharedMemory, sealed_content
from native_bench.sandbox.interface import Exit
from submissions.kernel_package.problem import Problem
from tests.unit.native_bench.conftest import REFERENCE_PY


@pytest.mark.parametrize(
    ("status", "code"),
    [("out_of_memory", "check:out-of-memory"), ("timed_out", "check:timed-out"), ("signalled", None)],
)
def test_it_reads_the_limits_off_the_sandbox(status: Any, code: str | None) -> None:
    end = end_by_limit(Exit(status, None, None, b"", b"", 1.0), "check")
    assert (end and end.code) == code


@pytest.mark.parametrize(
    ("obituary", "verdict", "code"),
    [
        ("exited 93", "build_failed", "build:not-loadable"),
        ("exited 91", "infra_error", "check:worker"),
        ("killed 9 0 0 2 0", "infra_error", "check:worker"),
    ],
)
def test_it_believes_our_own_code_before_the_seat(obituary: str, verdict: str, code: str) -> None:
    end = end_before_seat(obituary.split(), "check")
    assert (str(end.verdict), end.code) == (verdict, code)


@pytest.mark.parametrize(
    ("obituary", "verdict", "code", "words"),
    [
        ("exited 0", "crashed", "check:early-exit", "instead of returning"),
        ("exited 93", "crashed", "check:early-exit", "status 93"),
        ("killed 31 0 0 2 0", "cheat_suspected", "check:system-call", "system call"),
        ("killed 9 0 0 2 0", "crashed", "check:crashed", "SIGKILL"),
        ("killed 33 0 0 2 0", "crashed", "check:crashed", "signal 33"),
        ("killed 8 1 4660 2 0", "crashed", "check:crashed", "SIGFPE"),
        ("killed 11 128 0 2 0", "crashed", "check:crashed", "forbidden instruction"),
        ("killed 11 1 0 2 0", "crashed", "check:crashed", "a null pointer"),
        ("killed 11 1 4660 2 0", "crashed", "check:crashed", "at address 0x1234"),
    ],
)
def test_it_reads_every_way_a_kernel_dies(obituary: str, verdict: str, code: str, words: str) -> None:
    end = end_by_death(obituary.split(), "check")
    assert (str(end.verdict), end.code) == (verdict, code)
    assert words in end.message


def test_its_child_fills_inputs_truth_and_terms(problem: Problem) -> None:
    module: dict[str, Any] = {}
    exec(REFERENCE_PY, module)
    draw = {
        "dims": {"n": 4}, "distribution": "integers", "seed": 3, "scalars": {"a": 2.5, "n": 4}, "tries": [],
        "inputs": [["x", "fp32", [4], 0], ["y", "fp32", [4], 64]], "outputs": [["z", "fp32", [4], 128, 192]],
    }  # fmt: skip
    with SharedMemory("draws", 4096) as memory:
        reference_child.draw_one(np, module, draw, memory.map)
        x, y = (np.frombuffer(memory.map, "f4", 4, at).astype("f8").copy() for at in (0, 64))
        z, terms = (np.frombuffer(memory.map, "f8", 4, at).copy() for at in (128, 192))
    assert (z == 2.5 * x + y).all()
    assert (terms == np.abs(2.5 * x) + np.abs(y)).all()


def test_its_child_rounds_to_bfloat_and_to_half() -> None:
    bits, meant = reference_child.store(np, [1.0, 1.00390625, 1.0078125, -2.0], "bf16")
    assert bits.tolist() == [0x3F80, 0x3F80, 0x3F81, 0xC000]
    assert meant.tolist() == [1.0, 1.0, 1.0078125, -2.0]
    _, meant = reference_child.store(np, [0.1], "fp16")
    assert meant[0] == float(np.float16(0.1))
    stored, meant = reference_child.store(np, [7], "i64")
    assert stored.dtype == meant.dtype == np.int64


def test_its_child_refuses_a_shape_that_is_not_the_contracts() -> None:
    with pytest.raises(ValueError, match=r"x has the shape \[2, 3\]"):
        reference_child.check_shape("x", np.zeros((2, 3)), [6])


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (REFERENCE_PY, {"ok": True}),
        (b"import no_such_module", {"kind": "ModuleNotFoundError", "draw": None}),
        (REFERENCE_PY.replace(b"product + ", b"nothing + "), {"kind": "NameError", "draw": 0}),
    ],
)
def test_its_child_answers_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: bytes, told: dict[str, Any]
) -> None:
    draw = {
        "dims": {"n": 4}, "distribution": "uniform", "seed": 3, "scalars": {"a": 2.5, "n": 4}, "tries": [],
        "inputs": [["x", "fp32", [4], 0], ["y", "fp32", [4], 64]], "outputs": [["z", "fp32", [4], 128, 192]],
    }  # fmt: skip
    with (
        SharedMemory("draws", 4096) as memory,
        sealed_content("r", json.dumps([draw]).encode() + b"\n" + source) as fd,
    ):
        monkeypatch.setattr("sys.argv", ["child", str(memory.fd), str(os.dup(fd)), str(tmp_path)])
        monkeypatch.setattr("sys.path", ["", *sys.path])
        answer = reference_child.main()
    assert told.items() <= answer.items()
    assert ("error" in answer) == (told != {"ok": True})


def test_its_request_can_be_read_but_not_changed() -> None:
    content = b"x" * 300_000
    with sealed_content("request", content) as descriptor:
        assert os.fstat(descriptor).st_nlink == 0
        with pytest.raises(PermissionError):
            os.pwrite(descriptor, b"y", 0)
        assert os.read(descriptor, 400_000) == content
