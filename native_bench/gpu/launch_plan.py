"""A package's launches resolved at some dims: sizes as numbers, arguments as buffers and bytes. Needs no GPU."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from native_bench.cpu.reference_child import NUMPY_TYPES
from native_bench.gpu.occupancy import MULTIPROCESSORS, compute_capability
from native_bench.outcome import RunEnded
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.description import Description, Launch
from submissions.kernel_package.dtypes import DTYPE_BYTES
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.launches import (
    Size3,
    check_arguments,
    launch_name,
    launch_sizes,
    literal_value,
    scratch_elements,
)
from submissions.kernel_package.problem import Problem

POINTER_BYTES = 8


@dataclass(frozen=True)
class PlanLimits:
    """What one call of a kernel may ask for."""

    launches: int = 64
    scratch_bytes: int = 4 << 30


DEFAULT_LIMITS = PlanLimits()


@dataclass(frozen=True)
class _Pointer:
    """A pointer to device memory, which has `nbytes`."""

    name: str
    dtype: str
    nbytes: int

    @property
    def size_bytes(self) -> int:
        return POINTER_BYTES


class TensorArgument(_Pointer):
    """A pointer to one of the problem's tensors."""


class ScratchArgument(_Pointer):
    """A pointer to one of the plan's scratch buffers."""


@dataclass(frozen=True)
class ScalarArgument:
    """A value of the declared C type; `name` is the scalar's, or the literal as it is written."""

    name: str
    dtype: str
    value: int | float

    @property
    def as_numpy(self) -> np.generic:
        """The value as a numpy scalar of its dtype; bf16, which numpy lacks, as its bits."""
        value = _bfloat_bits(self.value) if self.dtype == "bf16" else self.value
        scalar: np.generic = np.dtype(NUMPY_TYPES[self.dtype]).type(value)
        return scalar

    @property
    def data(self) -> bytes:
        """The bytes that the kernel receives."""
        return self.as_numpy.tobytes()

    @property
    def size_bytes(self) -> int:
        return DTYPE_BYTES[self.dtype]


Argument = TensorArgument | ScratchArgument | ScalarArgument


@dataclass(frozen=True)
class ScratchBuffer:
    """Device memory that the launches of one call share; what it holds at the call's start is undefined."""

    name: str
    dtype: str
    nbytes: int


@dataclass(frozen=True)
class ResolvedLaunch:
    """One launch as a driver takes it; `shared_bytes` is the dynamic shared memory of a block."""

    kernel: str
    grid: Size3
    block: Size3
    shared_bytes: int
    arguments: tuple[Argument, ...]

    @property
    def block_threads(self) -> int:
        return math.prod(self.block)


@dataclass(frozen=True)
class LaunchPlan:
    """One call of a kernel: its launches in order, and the scratch buffers they need."""

    launches: tuple[ResolvedLaunch, ...]
    scratch: tuple[ScratchBuffer, ...]

    @property
    def scratch_bytes(self) -> int:
        return sum(buffer.nbytes for buffer in self.scratch)


def plan_launches(
    description: Description, problem: Problem, dims: Mapping[str, int], limits: PlanLimits = DEFAULT_LIMITS
) -> LaunchPlan:
    """Return the package's launches at `dims` on its own arch.

    Raises Rejected `package:launch` (an unknown argument, a size or literal out of range, too much shared memory
    for the arch, too much scratch, too many launches) and `package:expression`. A message may name the dims.
    """
    if len(description.launches) > limits.launches:
        raise _refuse(f"there are {len(description.launches)} launches, the limit is {limits.launches}")
    check_arguments(description, problem)
    label = " ".join(f"{name}={extent}" for name, extent in dims.items())
    scratch = _scratch(description, dims, label, limits)
    known = _named_arguments(problem, dims, scratch, label)
    launches = tuple(_resolve(launch, known, dims, label) for launch in description.launches)
    most = shared_bytes_limit(description.kernel_id.arch)
    for launch in launches:
        if most is not None and launch.shared_bytes > most:
            what = f"shared_bytes is {launch.shared_bytes}, {description.kernel_id.arch} has {most} for a block"
            raise _refuse(f"launch of {launch.kernel!r} at {label}: {what}")
    return LaunchPlan(launches, scratch)


def shared_bytes_limit(arch: str) -> int | None:
    """Return the most shared memory that a block may ask for on an arch; None where that is not known."""
    capability = compute_capability(arch)
    multiprocessor = MULTIPROCESSORS.get(capability) if capability is not None else None
    return multiprocessor.shared_bytes_per_block if multiprocessor is not None else None


def check_signature(plan: LaunchPlan, parameter_sizes: Mapping[str, Sequence[int]]) -> None:
    """Compare each launch's arguments with the compiled kernel's parameters, given in bytes by the launch's name.

    Raises RunEnded build_failed `build:signature`.
    """
    for launch in plan.launches:
        expected = parameter_sizes[launch.kernel]
        if len(launch.arguments) != len(expected):
            counts = f"passes {len(launch.arguments)} arguments, the kernel takes {len(expected)}"
            raise _mismatch(f"launch of {launch.kernel!r}: it {counts}")
        for at, (argument, size) in enumerate(zip(launch.arguments, expected, strict=True)):
            if argument.size_bytes != size:
                what = f"argument {at} ({argument.name}, {_type_name(argument)}) has {argument.size_bytes} bytes"
                raise _mismatch(f"launch of {launch.kernel!r}: {what}, the kernel expects {size}")


def _scratch(
    description: Description, dims: Mapping[str, int], label: str, limits: PlanLimits
) -> tuple[ScratchBuffer, ...]:
    buffers = tuple(
        ScratchBuffer(item.name, item.dtype, scratch_elements(item, dims, label) * DTYPE_BYTES[item.dtype])
        for item in description.scratch
    )
    total = sum(buffer.nbytes for buffer in buffers)
    if total > limits.scratch_bytes:
        raise _refuse(f"at {label} the scratch buffers have {total} bytes, the limit is {limits.scratch_bytes}")
    return buffers


def _named_arguments(
    problem: Problem, dims: Mapping[str, int], scratch: Sequence[ScratchBuffer], label: str
) -> dict[str, Argument]:
    shapes = problem.shapes(dims)
    known: dict[str, Argument] = {}
    for tensor in problem.tensors:
        nbytes = math.prod(shapes[tensor.name]) * DTYPE_BYTES[tensor.dtype]
        known[tensor.name] = TensorArgument(tensor.name, tensor.dtype, nbytes)
    for scalar in problem.scalars:
        dtype, value = literal_value({scalar.dtype: scalar.value}, dims, f"scalar {scalar.name!r} at {label}")
        known[scalar.name] = ScalarArgument(scalar.name, dtype, value)
    for buffer in scratch:
        known[buffer.name] = ScratchArgument(buffer.name, buffer.dtype, buffer.nbytes)
    return known


def _resolve(launch: Launch, known: Mapping[str, Argument], dims: Mapping[str, int], label: str) -> ResolvedLaunch:
    sizes = launch_sizes(launch, dims, label)
    arguments = tuple(
        known[argument] if isinstance(argument, str) else _literal(argument, dims, launch_name(launch, label))
        for argument in launch.args
    )
    return ResolvedLaunch(launch.kernel, sizes.grid, sizes.block, sizes.shared_bytes, arguments)


def _literal(argument: Mapping[str, int | float | str], dims: Mapping[str, int], where: str) -> ScalarArgument:
    dtype, value = literal_value(argument, dims, where)
    [written] = argument.values()
    return ScalarArgument(str(written), dtype, value)


def _type_name(argument: Argument) -> str:
    return argument.dtype if isinstance(argument, ScalarArgument) else f"pointer to {argument.dtype}"


def _bfloat_bits(value: int | float) -> int:
    """Return the bits of the nearest bf16, ties to even; `value` is rounded to fp32 first."""
    bits = int(np.float32(value).view(np.uint32))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _refuse(message: str) -> Rejected:
    return Rejected("package:launch", message)


def _mismatch(message: str) -> RunEnded:
    return RunEnded(Verdict.BUILD_FAILED, "build:signature", message)
