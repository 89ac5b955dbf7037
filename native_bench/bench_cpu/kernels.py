"""What is timed: three plain kernels of the starter zoo, one case each, with a chain of multiplications behind."""

import math
from dataclasses import dataclass, replace

from native_bench.cpu.build import Kernel
from native_bench.cpu.wrapper import signature
from native_bench.host import native_arch
from native_bench.starter import kernels, problems
from submissions.kernel_package.description import parse_description
from submissions.kernel_package.dtypes import DTYPE_BYTES
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import BoardId, ProblemId
from submissions.kernel_package.problem import Case, Problem, parse_problem

_CHAIN_PATH = "src/zoo_chain.cpp"
_CHAINED = "zoo_chained"
# Some of a microsecond, some tens of them, and more: what is shorter than 30 µs has no goal for power.
_CASES = {
    "saxpy": ("Vector/saxpy/fp32", Case("n4096", {"n": 4096}, "normal")),
    "matmul": ("GEMM/nn/fp32", Case("square64", {"m": 64, "n": 64, "k": 64}, "normal")),
    "softmax": ("Softmax/rows/fp32", Case("r64c256", {"rows": 64, "cols": 256}, "normal")),
}
KERNELS = tuple(_CASES)


@dataclass(frozen=True)
class Subject:
    """One kernel to be timed and its problem, which has a single case here."""

    name: str
    plain: Kernel
    reference_py: bytes

    @property
    def problem(self) -> Problem:
        return self.plain.problem

    @property
    def case(self) -> Case:
        return self.problem.cases[0]

    @property
    def tensor_bytes(self) -> tuple[int, ...]:
        """The size of each tensor, in the order of the kernel's arguments."""
        shapes = self.problem.shapes(self.case.dims)
        tensors = self.problem.tensors
        return tuple(math.prod(shapes[tensor.name]) * DTYPE_BYTES[tensor.dtype] for tensor in tensors)

    def with_chain(self, steps: int, copy: int = 0) -> Kernel:
        """Return the kernel followed by `steps` dependent multiplications; each `copy` is a library of its own."""
        plain = self.plain
        chain = _chain_source(plain.problem, plain.description.entry_symbol)
        description = replace(
            plain.description,
            entry_symbol=_CHAINED,
            sources=(*plain.description.sources, _CHAIN_PATH),
            defines={"ZOO_CHAIN_STEPS": str(steps), "ZOO_COPY": str(copy)},
        )
        return Kernel(description, {**plain.files, _CHAIN_PATH: chain}, plain.problem)


def subject(name: str) -> Subject:
    """Return one of KERNELS."""
    problem_name, case = _CASES[name]
    problem_id = ProblemId.parse(problem_name)
    contract = dict(problems())[problem_id]
    problem = replace(parse_problem(contract["problem.yaml"], problem_id), cases=(case,))
    files = dict(kernels(native_arch()))[BoardId(native_arch(), problem_id).baseline]
    return Subject(
        name, Kernel(parse_description(files[DESCRIPTION_PATH]), files, problem), contract["reference.py"]
    )


def _chain_source(problem: Problem, symbol: str) -> bytes:
    arguments = ", ".join(
        [tensor.name for tensor in problem.tensors] + [scalar.name for scalar in problem.scalars]
    )
    return f"""#include <cstdint>

{signature(problem, symbol)};

// In memory and never zero: whatever the count, the libraries have the same code at the same addresses.
static volatile std::uint64_t chain_end = ZOO_CHAIN_STEPS + 1;

{signature(problem, _CHAINED)} {{
    {symbol}({arguments});
    std::uint64_t product = 1;
    for (std::uint64_t left = chain_end; left > 1; --left) {{
        product *= 0x9e3779b97f4a7c15;
        asm volatile("" : "+r"(product));
    }}
}}
""".encode()
