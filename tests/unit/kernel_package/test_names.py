"""The names of problems, boards and kernels."""

from collections.abc import Callable

import pytest

from submissions.kernel_package.names import BoardId, KernelId, ProblemId
from tests.unit.kernel_package.conftest import rejection


def test_it_takes_a_kernel_id_apart() -> None:
    kernel = KernelId.parse("sm_90/GEMM/nn/fp32/tiled-v2.1+x")
    assert (kernel.arch, kernel.name) == ("sm_90", "tiled-v2.1+x")
    assert kernel.problem == ProblemId.parse("GEMM/nn/fp32")
    assert kernel.board == BoardId.parse("sm_90/GEMM/nn/fp32")
    assert str(kernel) == "sm_90/GEMM/nn/fp32/tiled-v2.1+x"
    assert not kernel.is_baseline
    assert kernel.board.baseline.is_baseline
    assert str(kernel.board.baseline) == "sm_90/GEMM/nn/fp32/reference_impl"


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".git",
        "-x",
        "a/b",
        "a b",
        "a\n",
        "a\0",
        "é",
        "a..b",
        "x.lock",
        "a" * 65,
        "a\\b",
        "a:b",
        "a~1",
    ],
)
def test_it_refuses_names_that_git_or_a_file_system_could_misread(name: str) -> None:
    fault = rejection(lambda: KernelId.parse(f"x86_64/GEMM/nn/fp32/{name}"))
    assert fault.code == "package:kernel-id"


@pytest.mark.parametrize(
    ("parse", "text", "code"),
    [
        (ProblemId.parse, "GEMM/nn", "package:problem-id"),
        (ProblemId.parse, "GEMM/nn/fp32/x", "package:problem-id"),
        (ProblemId.parse, "../nn/fp32", "package:problem-id"),
        (BoardId.parse, "GEMM/nn/fp32", "package:board-id"),
        (BoardId.parse, "problems/GEMM/nn/fp32", "package:board-id"),
        (KernelId.parse, "x86_64/GEMM/nn/fp32", "package:kernel-id"),
        (KernelId.parse, "problems/GEMM/nn/fp32/x", "package:kernel-id"),
        (KernelId.parse, "/GEMM/nn/fp32/x", "package:kernel-id"),
    ],
)
def test_it_refuses_what_is_no_such_name(parse: Callable[[str], object], text: str, code: str) -> None:
    fault = rejection(lambda: parse(text))
    assert (fault.code, fault.details["value"]) == (code, text)
    assert str(fault).startswith(f"{code}: ")
