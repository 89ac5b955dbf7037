"""The command line and the daemon's child protocol, as processes and in-process."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from native_bench.cli import main
from native_bench.host import native_arch
from tests.unit.native_bench.conftest import HONEST, PROBLEM_ID, PROBLEM_YAML, REFERENCE_PY, kernel, package

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[3]


def write_tree(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture
def problems_dir(tmp_path: Path) -> Path:
    files = {"problem.yaml": PROBLEM_YAML, "reference.py": REFERENCE_PY}
    write_tree(tmp_path / "problems" / str(PROBLEM_ID), files)
    return tmp_path / "problems"


def test_it_lists_the_starter_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["kernels"]
    assert f"{native_arch()}/GEMM/nn/fp32/reference_impl" in names
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names


def test_it_lists_what_kernelbench_calls_their_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    called = json.loads(capsys.readouterr().out)["kernelbench"]
    assert (len(called), called["GEMM/nn/fp32"]) == (6, "matrix-multiplication")
    assert called["Vector/divide/fp32"] == "vector --op divide"
    assert main(["list"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    shown = {name.split("/", 1)[1].rpartition("/")[0]: rest[0] for name, *rest in lines if rest}
    assert shown == called


def test_it_runs_a_starter_kernel(capsys: pytest.CaptureFixture[str], cache_dir: Path) -> None:
    name = f"{native_arch()}/Vector/saxpy/fp32/wide_vectors"
    assert main(["run", name, "--processes", "1", "--cache-dir", str(cache_dir)]) == 0
    printed = capsys.readouterr().out
    assert f"{name}: ok" in printed
    assert "n4096" in printed
    assert "speed-up over the baseline" in printed


def test_it_checks_a_package_folder_on_a_board_without_starters(
    capsys: pytest.CaptureFixture[str], cache_dir: Path, tmp_path: Path, problems_dir: Path
) -> None:
    folder = write_tree(tmp_path / "package", package(HONEST))
    call = [str(folder), "--json", "--cache-dir", str(cache_dir), "--problems", str(problems_dir)]
    assert main(["check", *call]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "ok"
    assert main(["run", *call]) == 2
    assert "reference_impl" in capsys.readouterr().err


def test_it_checks_a_folder_of_a_starter_board(
    capsys: pytest.CaptureFixture[str], cache_dir: Path, tmp_path: Path
) -> None:
    source = kernel("LOOP").replace("kernel(", "saxpy(")
    files = {
        path: content.replace(b"Vector/scale/fp32", b"Vector/saxpy/fp32").replace(
            b"symbol: kernel", b"symbol: saxpy"
        )
        for path, content in package(source).items()
    }
    folder = write_tree(tmp_path / "package", files)
    assert main(["check", str(folder), "--json", "--cache-dir", str(cache_dir)]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "ok"
    (folder / "src/kernel.cpp").write_text("broken")
    assert main(["check", str(folder), "--cache-dir", str(cache_dir)]) == 2
    (folder / "src/kernel.cpp").write_text("saxpy broken")
    assert main(["check", str(folder), "--cache-dir", str(cache_dir)]) == 1
    assert "build_failed (build:compile-error)" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["x86_64/Vector/saxpy/fp32/nobody", "no such thing", "."])
def test_it_refuses_what_is_no_kernel(capsys: pytest.CaptureFixture[str], target: str) -> None:
    assert main(["check", target]) == 2
    assert capsys.readouterr().err


def write_job(folder: Path, cache_dir: Path, source: str = HONEST) -> Path:
    document = {
        "run": "run-1",
        "kind": "measure",
        "mode": "ranked",
        "kernel_id": f"{native_arch()}/{PROBLEM_ID}/tried",
        "problem_id": str(PROBLEM_ID),
        "processes": 1,
        "contestants": {"candidate": "a" * 64, "baseline": "b" * 64, "incumbent": None},
        "cache_dir": str(cache_dir),
        "backend": "bwrap",
        "slot": 3,
    }
    write_tree(folder / "candidate", package(source))
    write_tree(folder / "baseline", package(HONEST))
    write_tree(folder / "problem", {"problem.yaml": PROBLEM_YAML, "reference.py": REFERENCE_PY})
    (folder / "job.json").write_text(json.dumps(document))
    return folder


def start(folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "native_bench", "execute", str(folder)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


SECRETS = json.dumps({"secret": "5a" * 32, "hidden_dims": [{"n": 31}]}).encode() + b"\n"


def test_it_executes_a_job_folder_in_json_lines(cache_dir: Path, tmp_path: Path) -> None:
    process = start(write_job(tmp_path, cache_dir))
    printed, complaints = process.communicate(SECRETS, timeout=120)
    events: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines()]
    assert process.returncode == 0, complaints
    assert next(event["stage"] for event in events if event["event"] == "stage") == "prepare"
    assert events[-1]["event"] == "outcome"
    result = events[-1]["result"]
    assert result["verdict"] == "ok"
    assert result["contestants"] == {"candidate": "a" * 64, "baseline": "b" * 64, "incumbent": None}
    assert b"5a5a5a" not in printed


def test_it_says_so_when_the_job_is_unreadable(tmp_path: Path) -> None:
    process = start(tmp_path)
    printed, complaints = process.communicate(SECRETS, timeout=60)
    assert (process.returncode, printed) == (1, b"")
    assert b"no readable job" in complaints


def children_of(pid: int) -> list[int]:
    listed = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
    found = [int(child) for path in listed if path.exists() for child in path.read_text().split()]
    return found + [grandchild for child in found for grandchild in children_of(child)]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_leaves_nothing_alive_when_it_is_ended(cache_dir: Path, tmp_path: Path, number: signal.Signals) -> None:
    endless = kernel("for (volatile int i = 0;; ++i) {}")
    process = start(write_job(tmp_path, cache_dir, endless))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(SECRETS)
    process.stdin.flush()
    for line in process.stdout:
        if json.loads(line).get("stage") == "check":
            break
    deadline = time.monotonic() + 20
    seen: list[int] = []
    while len(seen) < 3 and time.monotonic() < deadline:
        seen = children_of(process.pid)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert seen
    deadline = time.monotonic() + 10
    while any(map(is_alive, seen)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_alive, seen))
