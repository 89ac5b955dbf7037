"""`check --all`: one answer for all starter kernels of an arch."""

import json
from pathlib import Path

import pytest

from native_bench.cli import main
from native_bench.starter import kernels

pytestmark = pytest.mark.sandbox

CUDA = "sm_90"


@pytest.fixture
def two_kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the zoo be saxpy's two CUDA kernels."""
    found = [one for one in kernels(CUDA) if str(one[0].problem) == "Vector/saxpy/fp32"]
    monkeypatch.setattr("native_bench.commands.check_all.kernels", lambda arch: found)
    return [str(kernel_id) for kernel_id, _ in found]


def test_it_checks_every_kernel_of_an_arch(
    two_kernels: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["check", "--all", "--arch", CUDA, "--json", "--cache-dir", str(tmp_path)]) == 0
    checked = json.loads(capsys.readouterr().out)["kernels"]
    assert [kernel["kernel_id"] for kernel in checked] == two_kernels
    assert {kernel["verdict"] for kernel in checked} == {"ok"}
    assert {kernel["evidence"] for kernel in checked} == {"emulated"}


def test_it_names_each_kernel_and_counts_them(
    two_kernels: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["check", "--all", "--arch", CUDA, "--cache-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [*(f"{name} ok" for name in two_kernels), "2 of 2 kernels are ok"]


@pytest.mark.parametrize("arch", ["gfx928", "riscv64", ""])
def test_it_refuses_an_arch_without_starter_kernels(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--all", f"--arch={arch}x"]) == 2
    assert "no starter kernels" in capsys.readouterr().err


def test_it_wants_a_kernel_or_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check"])
    assert ended.value.code == 2
    assert "--all" in capsys.readouterr().err
