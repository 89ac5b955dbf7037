"""The names of problems, boards and kernels, and the rules their segments keep."""

import re
from dataclasses import dataclass
from typing import Self

from submissions.kernel_package.errors import Rejected

BASELINE_NAME = "reference_impl"
PROBLEMS_FOLDER = "problems"

_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")


def _segments(text: str, count: int, code: str, shape: str) -> list[str]:
    parts = text.split("/")
    if len(parts) != count:
        raise Rejected(code, f"{text!r} is not of the form {shape}", value=text)
    for part in parts:
        if not _SEGMENT.fullmatch(part) or part.endswith(".lock") or ".." in part:
            raise Rejected(
                code,
                f"{part!r} in {text!r} is not a valid name: letters, digits and _ . + -, at most 64 characters",
                value=text,
                segment=part,
            )
    return parts


@dataclass(frozen=True, order=True)
class ProblemId:
    """`<op_class>/<sub_class>/<quant>`, the same on every arch."""

    op_class: str
    sub_class: str
    quant: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `GEMM/nn/fp32`; raises Rejected `package:problem-id`."""
        return cls(*_segments(text, 3, "package:problem-id", "<op_class>/<sub_class>/<quant>"))

    def __str__(self) -> str:
        return f"{self.op_class}/{self.sub_class}/{self.quant}"


@dataclass(frozen=True, order=True)
class BoardId:
    """One problem on one arch."""

    arch: str
    problem: ProblemId

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `sm_90/GEMM/nn/fp32`; raises Rejected `package:board-id`."""
        shape = "<arch>/<op_class>/<sub_class>/<quant>"
        arch, *rest = _segments(text, 4, "package:board-id", shape)
        if arch == PROBLEMS_FOLDER:
            raise Rejected("package:board-id", f"{arch!r} is not an arch", value=text)
        return cls(arch, ProblemId(*rest))

    @property
    def baseline(self) -> "KernelId":
        return KernelId(self, BASELINE_NAME)

    def __str__(self) -> str:
        return f"{self.arch}/{self.problem}"


@dataclass(frozen=True, order=True)
class KernelId:
    """`<arch>/<op_class>/<sub_class>/<quant>/<name>`: one implementation on a board."""

    board: BoardId
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a whole kernel_id; raises Rejected `package:kernel-id`."""
        shape = "<arch>/<op_class>/<sub_class>/<quant>/<name>"
        arch, op_class, sub_class, quant, name = _segments(text, 5, "package:kernel-id", shape)
        if arch == PROBLEMS_FOLDER:
            raise Rejected("package:kernel-id", f"{arch!r} is not an arch", value=text)
        return cls(BoardId(arch, ProblemId(op_class, sub_class, quant)), name)

    @property
    def arch(self) -> str:
        return self.board.arch

    @property
    def problem(self) -> ProblemId:
        return self.board.problem

    @property
    def is_baseline(self) -> bool:
        return self.name == BASELINE_NAME

    def __str__(self) -> str:
        return f"{self.board}/{self.name}"
