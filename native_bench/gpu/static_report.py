"""The static report: facts of a CUDA package that was compiled and never run, and so without any time."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from native_bench.contract import dims_text
from native_bench.gpu.compiler import CudaBuild
from native_bench.gpu.cubin import Cubin, CubinKernel, read_cubin
from native_bench.gpu.instruction_mix import instruction_mixes
from native_bench.gpu.occupancy import BlockUse, Occupancy, compute_capability, occupancy
from native_bench.sandbox.interface import Sandbox
from submissions.evaluation.verdicts import Evidence
from submissions.kernel_package.description import Description
from submissions.kernel_package.launches import BLOCK_THREADS, launch_sizes

REPORT_ARCHS = ("sm_80", "sm_90", "sm_100")

_ENTRY = re.compile(r"Compiling entry function '(?P<kernel>[^']+)' for '")
_SPILLS = re.compile(r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")
_COLUMNS = ("kernel", "arch", "block", "regs", "shared B", "spill B", "stack B", "bars", "occupancy", "limited by")


@dataclass(frozen=True)
class BlockShape:
    """The size of one launch's blocks: threads, and dynamic shared memory in bytes."""

    kernel: str
    threads: int
    shared_bytes: int = 0


@dataclass(frozen=True)
class Spills:
    """Bytes of registers that each thread puts by in memory and takes back, as the assembler counts them."""

    store_bytes: int
    load_bytes: int


@dataclass(frozen=True)
class KernelFacts:
    """One kernel on one arch, launched with blocks of one size.

    `spills` is None where the assembler's word is missing, `occupancy` where the arch's resources are not known,
    `instructions` where there is no disassembler.
    """

    kernel: str
    symbol: str
    arch: str
    block_threads: int
    registers: int
    static_shared_bytes: int
    dynamic_shared_bytes: int
    spills: Spills | None
    stack_bytes: int
    barriers: int
    max_threads: int | None
    code_bytes: int
    occupancy: Occupancy | None
    instructions: Mapping[str, int] | None


@dataclass(frozen=True)
class ArchFacts:
    """What holds for a whole build: compiler, persistent memory, what the code leaves to the driver."""

    arch: str
    compiler: str
    device_bytes: int
    constant_bytes: int
    undefined: tuple[str, ...]


@dataclass(frozen=True)
class StaticReport:
    """All facts of one package."""

    archs: tuple[ArchFacts, ...]
    kernels: tuple[KernelFacts, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "evidence": str(Evidence.STATIC),
            "archs": [asdict(arch) for arch in self.archs],
            "kernels": [asdict(kernel) for kernel in self.kernels],
        }


def block_shapes(description: Description, dims: Mapping[str, int]) -> tuple[BlockShape, ...]:
    """Return the sizes of all launches at `dims`, each once; raises Rejected `package:{launch,expression}`."""
    label = dims_text(dims)
    sizes = [(launch.kernel, launch_sizes(launch, dims, label)) for launch in description.launches]
    shapes = [BlockShape(kernel, math.prod(size.block), size.shared_bytes) for kernel, size in sizes]
    return tuple(dict.fromkeys(shapes))


def static_report(builds: Iterable[CudaBuild], shapes: Sequence[BlockShape], sandbox: Sandbox) -> StaticReport:
    """Return the facts of the builds of one package; raises BadCubin where a build is no readable cubin."""
    archs: list[ArchFacts] = []
    kernels: list[KernelFacts] = []
    for build in builds:
        cubin = read_cubin(build.cubin)
        archs.append(
            ArchFacts(build.arch, build.compiler, cubin.device_bytes, cubin.constant_bytes, cubin.undefined)
        )
        kernels += _kernel_facts(build, cubin, shapes, instruction_mixes(build.cubin, sandbox) or {})
    return StaticReport(tuple(archs), tuple(kernels))


def _kernel_facts(
    build: CudaBuild, cubin: Cubin, shapes: Sequence[BlockShape], mixes: Mapping[str, Mapping[str, int]]
) -> list[KernelFacts]:
    spills = spills_of(build.ptxas)
    found = []
    for shape in shapes:
        kernel = cubin.kernel(build.lowered[shape.kernel])
        if kernel is not None:
            found.append(_facts(build.arch, shape, kernel, spills.get(kernel.name), mixes.get(kernel.name)))
    return found


def _facts(
    arch: str, shape: BlockShape, kernel: CubinKernel, spills: Spills | None, mix: Mapping[str, int] | None
) -> KernelFacts:
    return KernelFacts(
        kernel=shape.kernel,
        symbol=kernel.name,
        arch=arch,
        block_threads=shape.threads,
        registers=kernel.registers,
        static_shared_bytes=kernel.static_shared_bytes,
        dynamic_shared_bytes=shape.shared_bytes,
        spills=spills,
        stack_bytes=kernel.frame_bytes,
        barriers=kernel.barriers,
        max_threads=kernel.max_threads,
        code_bytes=kernel.code_bytes,
        occupancy=_occupancy(arch, shape, kernel),
        instructions=mix,
    )


def _occupancy(arch: str, shape: BlockShape, kernel: CubinKernel) -> Occupancy | None:
    capability = compute_capability(arch)
    if capability is None:
        return None
    use = BlockUse(
        threads=shape.threads,
        registers=kernel.registers,
        static_shared_bytes=kernel.static_shared_bytes,
        dynamic_shared_bytes=shape.shared_bytes,
        barriers=kernel.barriers,
        max_threads=kernel.max_threads or BLOCK_THREADS,
    )
    return occupancy(capability, use)


def spills_of(ptxas: str) -> dict[str, Spills]:
    """Return {symbol: spills} of what `ptxas -v` prints."""
    found: dict[str, Spills] = {}
    kernel = None
    for line in ptxas.splitlines():
        entry = _ENTRY.search(line)
        if entry is not None:
            kernel = entry["kernel"]
        spills = _SPILLS.search(line)
        if spills is not None and kernel is not None:
            found[kernel] = Spills(int(spills["stores"]), int(spills["loads"]))
            kernel = None
    return found


def report_text(report: Mapping[str, Any]) -> str:
    """Return a report's JSON as a table of its kernels, one line for each arch and size of blocks."""
    rows = [_COLUMNS, *map(_row, report["kernels"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "".join(_line(row, widths) for row in rows)


def _row(facts: Mapping[str, Any]) -> tuple[str, ...]:
    spills, fits = facts["spills"], facts["occupancy"]
    return (
        facts["kernel"],
        facts["arch"],
        str(facts["block_threads"]),
        str(facts["registers"]),
        str(facts["static_shared_bytes"] + facts["dynamic_shared_bytes"]),
        f"{spills['store_bytes']}/{spills['load_bytes']}" if spills else "–",
        str(facts["stack_bytes"]),
        str(facts["barriers"]),
        f"{fits['fraction']:.0%}" if fits else "–",
        ", ".join(fits["limited_by"]) if fits else "–",
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) if column in (0, 1, 9) else cell.rjust(width)
             for column, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
    return "  ".join(cells).rstrip() + "\n"
