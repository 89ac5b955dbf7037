"""How much memory a timed case takes, and whether this machine has it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from native_bench.contract import dims_text, machine_bytes
from native_bench.cpu.draws import Draw, draws_bytes
from native_bench.cpu.sitting import pool_sets
from submissions.kernel_package.dtypes import DTYPE_BYTES
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.problem import Case, Problem

_CONTESTANTS = 2
_MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Need:
    """What a run at some dims takes: one call's tensors, the timed sets of inputs, and all of it together."""

    dims: Mapping[str, int]
    tensor_bytes: Mapping[str, int]
    sets: int
    total_bytes: int


def need_of(problem: Problem, case: Case, distributions: int) -> Need:
    """Return what it takes to check a case with so many distributions and to time two contestants on it."""
    shapes = problem.shapes(case.dims)
    elements = {tensor.name: math.prod(shapes[tensor.name]) for tensor in problem.tensors}
    tensor_bytes = {tensor.name: elements[tensor.name] * DTYPE_BYTES[tensor.dtype] for tensor in problem.tensors}
    sets = pool_sets(problem, case)
    pool = draws_bytes(problem, [Draw(case.dims, case.distribution, 0, False)] * (sets + max(1, distributions)))
    inputs = sum(tensor_bytes[tensor.name] for tensor in problem.inputs)
    outputs = problem.tensor_bytes_of(case.dims) - inputs
    # The reference works in fp64: copies of its inputs, intermediate results, sums of magnitudes. With two such
    # arrays per tensor this came out 4 % under the peak of a real run.
    reference = 4 * 8 * sum(elements.values())
    total = pool + sets * (inputs + _CONTESTANTS * outputs) + reference
    return Need(case.dims, tensor_bytes, sets, total)


def room_bytes(limit_bytes: int | None) -> int:
    """Return the bytes that may be taken: what is free now, or the limit; raises Rejected for one above that."""
    free = _available_bytes()
    if limit_bytes is None:
        return free
    if limit_bytes > free:
        message = f"a limit of {bytes_text(limit_bytes)} is more than the {bytes_text(free)} that are free"
        raise Rejected("sweep:memory", message)
    return limit_bytes


def require_room(needs: Sequence[Need], room: int) -> None:
    """Raise Rejected `sweep:memory` with the first size that does not fit."""
    for need in needs:
        if need.total_bytes > room:
            message = (
                f"{dims_text(need.dims)} needs {bytes_text(need.total_bytes)} of memory, and "
                f"{bytes_text(room)} may be taken; choose smaller sizes"
            )
            raise Rejected("sweep:memory", message)


def needs_lines(needs: Sequence[Need], room: int) -> Iterator[str]:
    """Yield one line for each size: its tensors, the sets of them, and all of it against the room."""
    for need in needs:
        tensors = ", ".join(f"{name} {bytes_text(size)}" for name, size in need.tensor_bytes.items())
        yield (
            f"{dims_text(need.dims)}: {tensors}; with {need.sets} sets of inputs {bytes_text(need.total_bytes)} "
            f"of {bytes_text(room)} ({bytes_text(machine_bytes())} in the machine)"
        )


def bytes_text(size: int) -> str:
    """Return a size with three digits and its unit."""
    for unit, bits in (("B", 0), ("KiB", 10), ("MiB", 20)):
        if size < 1000 << bits:
            return f"{size / (1 << bits):.3g} {unit}"
    return f"{size / (1 << 30):.3g} GiB"


def _available_bytes() -> int:
    for line in _MEMINFO.read_text().splitlines() if _MEMINFO.is_file() else ():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) << 10
    return machine_bytes()
