"""How a worker's death is read, and what the reference child does, without starting either."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from native_bench.cpu import reference_child
from native_bench.cpu.arena import Fault
from native_bench.cpu.worker import _end_of
from native_bench.memory import SharedMemory
from native_bench.sandbox.interface import Exit
from submissions.kernel_package.problem import Problem
from tests.unit.native_bench.conftest import REFERENCE_PY


def ended(status: Any = "exited", code: int | None = None, name: str | None = None) -> Exit:
    return Exit(status, code, name, b"", b"", 1.0)


@pytest.mark.parametrize(
    ("exit_", "verdict", "code"),
    [
        (ended("out_of_memory"), "out_of_memory", "check:out-of-memory"),
        (ended("timed_out"), "timed_out", "check:timed-out"),
        (ended("setup_failed"), "infra_error", "check:worker"),
        (ended("exited", 91), "infra_error", "check:worker"),
        (ended("exited", 93), "build_failed", "build:not-loadable"),
        (ended("exited", 0), "crashed", "check:early-exit"),
        (ended("exited", 128 + signal.SIGABRT), "crashed", "check:crashed"),
        (ended("signalled", None, "SIGSYS"), "cheat_suspected", "check:system-call"),
        (ended("signalled", None, "SIGKILL"), "crashed", "check:crashed"),
    ],
)
def test_it_reads_every_way_a_worker_dies(exit_: Exit, verdict: str, code: str) -> None:
    end = _end_of(exit_, None, "check", None, None)
    assert (str(end.verdict), end.code) == (verdict, code)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(11, 128, 0, 2, 0), "forbidden instruction"),
        (Fault(11, 1, 0, 2, 0), "a null pointer"),
        (Fault(11, 1, 0x1234, 2, 0), "at address 0x1234"),
        (Fault(8, 1, 0x1234, 2, 0), "SIGFPE"),
    ],
)
def test_it_hints_at_the_place_of_a_fault(fault: Fault, words: str) -> None:
    assert words in _end_of(ended("exited", 128 + fault.signal), fault, "check", None, None).message


def test_its_child_fills_inputs_truth_and_terms(problem: Problem) -> None:
    module: dict[str, Any] = {}
    exec(REFERENCE_PY, module)
    draw = {
        "dims": {"n": 4}, "distribution": "integers", "seed": 3, "scalars": {"a": 2.5, "n": 4},
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


def test_its_child_answers_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "reference.py").write_bytes(REFERENCE_PY)
    (tmp_path / "request.json").write_text(json.dumps({"reference": str(tmp_path / "reference.py"), "draws": []}))
    with SharedMemory("draws", 4096) as memory, (tmp_path / "request.json").open() as request:
        monkeypatch.setattr("sys.argv", ["child", str(memory.fd), str(tmp_path)])
        monkeypatch.setattr("sys.path", ["", *__import__("sys").path])
        monkeypatch.setattr("sys.stdin", request)
        assert reference_child.main() == {"ok": True}
    assert capsys.readouterr().out == ""
