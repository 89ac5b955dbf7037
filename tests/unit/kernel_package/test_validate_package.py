"""The command an entrant runs before sending: exit status, text and JSON."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import native_bench
from submissions.kernel_package.__main__ import main
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.files import GRADER_PATHS
from submissions.kernel_package.package import check_package
from submissions.kernel_package.strict_yaml import dump_yaml
from tests.unit.kernel_package.conftest import NATIVE_ID, native_files

Document = dict[str, Any]


@pytest.fixture
def problems(tmp_path: Path, problem_document: Document) -> str:
    folder = tmp_path / "store" / "problems" / "Vector" / "saxpy" / "fp32"
    folder.mkdir(parents=True)
    (folder / "problem.yaml").write_bytes(dump_yaml(problem_document))
    return str(tmp_path / "store" / "problems")


def unpacked(folder: Path, files: dict[str, bytes]) -> str:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return str(folder)


def packed(folder: Path, files: dict[str, bytes]) -> str:
    path = folder / "package.tar.gz"
    path.write_bytes(write_archive(files))
    return str(path)


@pytest.mark.parametrize("form", [packed, unpacked])
def test_it_says_that_a_package_is_valid(
    form: Any, tmp_path: Path, problems: str, native_document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    files = native_files(native_document)
    (tmp_path / "kernel").mkdir()
    assert main([form(tmp_path / "kernel", files), "--problems", problems, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["valid"] is True
    assert answer["kernel_id"] == str(NATIVE_ID)
    assert answer["digest"] == check_package(files, NATIVE_ID).digest
    assert answer["problem_version"] == 1


def test_it_says_so_in_words(
    tmp_path: Path, problems: str, native_document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    path = packed(tmp_path, native_files(native_document))
    assert main([path, "--kernel-id", str(NATIVE_ID), "--problems", problems]) == 0
    assert capsys.readouterr().out.startswith(f"valid: {NATIVE_ID} (native, problem version 1)\n")


def test_it_prints_code_and_message(
    tmp_path: Path, problems: str, native_document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    path = packed(tmp_path, native_files(native_document | {"titel": "x"}))
    assert main([path, "--problems", problems]) == 1
    out = capsys.readouterr().out
    assert out.startswith("package:schema: .kernel_package/desc.yaml, line ")
    assert "did you mean 'title'?" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--kernel-id", "x86_64/Vector/saxpy/fp32/other"], "package:kernel-id-mismatch"),
        (["--kernel-id", "nonsense"], "package:kernel-id"),
    ],
)
def test_it_prints_a_rejection_as_json(
    tmp_path: Path,
    problems: str,
    native_document: Document,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: str,
) -> None:
    path = packed(tmp_path, native_files(native_document))
    assert main([path, "--problems", problems, "--json", *arguments]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["valid"], answer["code"]) == (False, code)


def test_it_rejects_an_archive_over_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "big.tar.gz"
    path.write_bytes(b"\x1f" * (2 << 20))
    assert main([str(path)]) == 1
    assert capsys.readouterr().out.startswith("package:too-large")


def test_it_rejects_an_unknown_problem(
    tmp_path: Path, native_document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    path = packed(tmp_path, native_files(native_document))
    assert main([path, "--problems", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("package:unknown-problem")


def script_files(native_document: Document, kernel_id: str) -> dict[str, bytes]:
    document = native_document | {
        "kernel_id": kernel_id,
        "harness": "script",
        "language": "triton",
        "entry": {"source": "src/k.py"},
    }
    del document["build"]
    return {".kernel_package/desc.yaml": dump_yaml(document), "src/k.py": b"x = 1\n"}


def test_it_finds_a_script_boards_grader_beside_its_baseline(
    tmp_path: Path, problems: str, native_document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    path = packed(tmp_path, script_files(native_document, "gfx928/Vector/saxpy/fp32/triton"))
    assert main([path, "--problems", problems]) == 1
    assert capsys.readouterr().out.startswith("package:harness")
    baseline = Path(problems).parent / "gfx928/Vector/saxpy/fp32/reference_impl"
    unpacked(baseline, dict.fromkeys(GRADER_PATHS, b"pass\n"))
    assert main([path, "--problems", problems]) == 0


def test_it_reads_a_native_boards_harness_from_its_baseline(
    tmp_path: Path, problems: str, native_document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline_id = NATIVE_ID.board.baseline
    baseline = check_package(native_files(native_document | {"kernel_id": str(baseline_id)}), baseline_id)
    unpacked(Path(problems).parent / str(baseline_id), dict(baseline.files))
    path = packed(tmp_path, script_files(native_document, str(NATIVE_ID)))
    assert main([path, "--problems", problems]) == 1
    assert capsys.readouterr().out.startswith("package:harness: the board x86_64/Vector/saxpy/fp32 takes harness")


def test_it_takes_a_starter_kernel_of_the_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    starter = Path(native_bench.__file__).parent / "problems/Vector/saxpy/fp32/kernels/wide_vectors"
    assert main([str(starter)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nowhere.tar.gz"], [".", "--problems", "nowhere"]])
def test_it_tells_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "nowhere" in capsys.readouterr().err


def test_it_is_a_command_with_help() -> None:
    command = [sys.executable, "-m", "submissions.kernel_package"]
    shown = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "tar -czf package.tar.gz .kernel_package src" in shown.stdout
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
