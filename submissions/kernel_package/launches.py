"""Launch data of a rawkernel package against its problem: every argument known, every size sane at every case.

A run resolves the same launches at its own dims with the same rules.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from submissions.kernel_package.description import Description, Launch, Scratch
from submissions.kernel_package.dtypes import float_maximum, integer_range, is_float
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.expressions import evaluate
from submissions.kernel_package.problem import Problem

Size3 = tuple[int, int, int]

# What CUDA allows on any arch.
GRID_MAX: Size3 = ((1 << 31) - 1, 65535, 65535)
BLOCK_MAX: Size3 = (1024, 1024, 64)
BLOCK_THREADS = 1024
_SHARED_BYTES = 1 << 20


@dataclass(frozen=True)
class LaunchSizes:
    """One launch's sizes at some dims, within what CUDA allows on any arch."""

    grid: Size3
    block: Size3
    shared_bytes: int


def check_launches(description: Description, problem: Problem) -> None:
    """Raise Rejected `package:launch` or `package:expression`."""
    check_arguments(description, problem)
    all_dims = [("dry_run", problem.dry_run), *((f"case {case.id!r}", case.dims) for case in problem.cases)]
    for label, dims in all_dims:
        for scratch in description.scratch:
            scratch_elements(scratch, dims, label)
        for launch in description.launches:
            launch_sizes(launch, dims, label)
            for argument in launch.args:
                if not isinstance(argument, str):
                    literal_value(argument, dims, launch_name(launch, label))


def check_arguments(description: Description, problem: Problem) -> None:
    """Raise Rejected `package:launch` for a name that two arguments have, or that none has."""
    known = {tensor.name for tensor in problem.tensors} | {scalar.name for scalar in problem.scalars}
    for scratch in description.scratch:
        if scratch.name in known:
            raise _refuse(f"the scratch buffer {scratch.name!r} has the name of another argument")
        known.add(scratch.name)
    for launch in description.launches:
        for argument in launch.args:
            if isinstance(argument, str) and argument not in known:
                what = f"the argument {argument!r} is no tensor, scalar or scratch buffer"
                raise _refuse(f"launch of {launch.kernel!r}: {what}")


def launch_name(launch: Launch, label: str) -> str:
    """Return how messages name a launch at the dims that `label` stands for."""
    return f"launch of {launch.kernel!r} at {label}"


def scratch_elements(scratch: Scratch, dims: Mapping[str, int], label: str) -> int:
    """Return how many elements a scratch buffer has; raises Rejected `package:{launch,expression}`."""
    extents = [evaluate(extent, dims) for extent in scratch.shape]
    if any(extent < 0 for extent in extents):
        raise _refuse(f"at {label} the scratch buffer {scratch.name!r} has a negative size")
    return math.prod(extents)


def launch_sizes(launch: Launch, dims: Mapping[str, int], label: str) -> LaunchSizes:
    """Return a launch's sizes; raises Rejected `package:{launch,expression}`."""
    sizes = LaunchSizes(_three(launch.grid, dims), _three(launch.block, dims), evaluate(launch.shared_bytes, dims))
    where = launch_name(launch, label)
    if any(not 1 <= size <= limit for size, limit in zip(sizes.grid, GRID_MAX, strict=True)):
        raise _refuse(f"{where}: the grid {list(sizes.grid)} is not within [1, {list(GRID_MAX)}]")
    if any(not 1 <= size <= limit for size, limit in zip(sizes.block, BLOCK_MAX, strict=True)):
        raise _refuse(f"{where}: the block {list(sizes.block)} is not within [1, {list(BLOCK_MAX)}]")
    if math.prod(sizes.block) > BLOCK_THREADS:
        raise _refuse(f"{where}: the block {list(sizes.block)} has more than {BLOCK_THREADS} threads")
    if not 0 <= sizes.shared_bytes <= _SHARED_BYTES:
        raise _refuse(f"{where}: shared_bytes is {sizes.shared_bytes}")
    return sizes


def _three(sizes: tuple[str | int, ...], dims: Mapping[str, int]) -> Size3:
    x, y, z = (evaluate(size, dims) for size in sizes)
    return x, y, z


def literal_value(
    argument: Mapping[str, int | float | str], dims: Mapping[str, int], where: str
) -> tuple[str, int | float]:
    """Return the dtype and value of a `{dtype: value}` argument; raises Rejected `package:{launch,expression}`."""
    [(dtype, given)] = argument.items()
    value = evaluate(given, dims) if isinstance(given, str) else given
    if is_float(dtype):
        # A comparison with what is no number fails, so that this refuses it too.
        if not abs(value) <= float_maximum(dtype):
            raise _refuse(f"{where}: {value} is no finite {dtype}")
        return dtype, float(value)
    if isinstance(value, float):
        raise _refuse(f"{where}: {value} is no {dtype}")
    least, greatest = integer_range(dtype)
    if not least <= value <= greatest:
        raise _refuse(f"{where}: {value} does not fit {dtype}")
    return dtype, value


def _refuse(message: str) -> Rejected:
    return Rejected("package:launch", message)
