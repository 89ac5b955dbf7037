"""Launch data of a rawkernel package against its problem: every argument known, every size sane at every case."""

import math
from collections.abc import Mapping

from submissions.kernel_package.description import Description, Launch
from submissions.kernel_package.dtypes import is_float
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.expressions import evaluate
from submissions.kernel_package.problem import Problem

_GRID_MAX = ((1 << 31) - 1, 65535, 65535)
_BLOCK_MAX = (1024, 1024, 64)
_BLOCK_THREADS = 1024
_SHARED_BYTES = 1 << 20


def check_launches(description: Description, problem: Problem) -> None:
    """Raise Rejected `package:launch` or `package:expression`."""
    arguments = {tensor.name for tensor in problem.tensors} | {scalar.name for scalar in problem.scalars}
    for scratch in description.scratch:
        if scratch.name in arguments:
            raise _refuse(f"the scratch buffer {scratch.name!r} has the name of another argument")
        arguments.add(scratch.name)
    all_dims = [("dry_run", problem.dry_run), *((f"case {case.id!r}", case.dims) for case in problem.cases)]
    for label, dims in all_dims:
        for scratch in description.scratch:
            if any(evaluate(extent, dims) < 0 for extent in scratch.shape):
                raise _refuse(f"at {label} the scratch buffer {scratch.name!r} has a negative size")
        for launch in description.launches:
            _check_launch(launch, arguments, dims, label)


def _check_launch(launch: Launch, arguments: set[str], dims: Mapping[str, int], label: str) -> None:
    grid = [evaluate(size, dims) for size in launch.grid]
    block = [evaluate(size, dims) for size in launch.block]
    shared_bytes = evaluate(launch.shared_bytes, dims)
    where = f"launch of {launch.kernel!r} at {label}"
    if any(not 1 <= size <= limit for size, limit in zip(grid, _GRID_MAX, strict=True)):
        raise _refuse(f"{where}: the grid {grid} is not within [1, {list(_GRID_MAX)}]")
    if any(not 1 <= size <= limit for size, limit in zip(block, _BLOCK_MAX, strict=True)):
        raise _refuse(f"{where}: the block {block} is not within [1, {list(_BLOCK_MAX)}]")
    if math.prod(block) > _BLOCK_THREADS:
        raise _refuse(f"{where}: the block {block} has more than {_BLOCK_THREADS} threads")
    if not 0 <= shared_bytes <= _SHARED_BYTES:
        raise _refuse(f"{where}: shared_bytes is {shared_bytes}")
    for argument in launch.args:
        _check_argument(argument, arguments, dims, where)


def _check_argument(
    argument: str | Mapping[str, int | float | str], arguments: set[str], dims: Mapping[str, int], where: str
) -> None:
    if isinstance(argument, str):
        if argument not in arguments:
            raise _refuse(f"{where}: the argument {argument!r} is no tensor, scalar or scratch buffer")
        return
    [(dtype, value)] = argument.items()
    if isinstance(value, float) and not is_float(dtype):
        raise _refuse(f"{where}: {value} is no {dtype}")
    if isinstance(value, str):
        evaluate(value, dims)


def _refuse(message: str) -> Rejected:
    return Rejected("package:launch", message)
