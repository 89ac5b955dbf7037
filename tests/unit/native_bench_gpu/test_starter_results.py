"""The starter zoo's CUDA kernels are right on the emulator, at sizes with tails and at every path's edge."""

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from native_bench.cpu.bounds import Judge
from native_bench.cpu.reference_child import NUMPY_TYPES
from native_bench.gpu.device import DeviceArgument, DeviceLaunch
from native_bench.gpu.emulated_device import EmulatedDevice
from native_bench.gpu.emulator import Module
from native_bench.gpu.launch_plan import ScalarArgument, plan_launches
from native_bench.starter import kernels, problems
from submissions.kernel_package.description import Description, parse_description
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.problem import Problem, parse_problem
from tests.unit.native_bench_gpu.emulator_cast import compiled, needs_nvrtc

Dims = Mapping[str, int]
Arrays = dict[str, NDArray[Any]]

pytestmark = needs_nvrtc

FILES = dict(kernels("sm_90"))
PROBLEM_FILES = dict(problems())


def _dims(names: str, *rows: tuple[int, ...]) -> list[Dims]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


_VECTOR = _dims("n", (1,), (3,), (4,), (2048,), (2049,), (4099,))
# The least sizes, tails, both sides of what a tile, a row in registers or a slice holds, and large tiles.
EDGES: Mapping[str, list[Dims]] = {
    "Vector": _VECTOR,
    "Reduction": [*_VECTOR, *_dims("n", (257,), (20001,), (100003,))],
    "Scan": [*_VECTOR, *_dims("n", (257,), (70001,), (2100003,))],
    "Transpose": _dims("rows cols", (1, 1), (1, 150), (150, 1), (64, 36), (36, 65), (33, 31)),
    "GEMV": _dims("m n", (1, 1), (3, 4), (5, 1199), (7, 516), (2, 513)),
    "Softmax": _dims(
        "rows cols", (1, 1), (3, 2), (5, 1499), (3, 4096), (2, 8192), (2, 8191), (1, 8193), (1, 16400)
    ),
    "Norm": _dims("rows cols", (1, 1), (3, 2), (5, 599), (3, 4096), (2, 8192), (2, 8191), (1, 8193), (1, 16400)),
    "GEMM": _dims("m n k", (1, 1, 1), (1, 1, 600), (33, 65, 129), (32, 32, 64), (31, 36, 68), (1459, 1451, 5)),
    "Conv": _dims(
        "n c h w oc kh kw stride_h stride_w pad_h pad_w",
        (1, 4, 13, 11, 17, 5, 5, 2, 3, 2, 0),
        (2, 24, 7, 7, 24, 1, 1, 1, 1, 0, 0),
        (1, 1, 7, 9, 1, 1, 5, 3, 1, 0, 2),
        (1, 1, 2, 3, 2, 5, 6, 1, 1, 2, 2),
        (1, 2, 90, 95, 70, 2, 3, 1, 1, 1, 1),
    ),
    "Attention": _dims(
        "batch heads length dim causal",
        (1, 1, 1, 1, 0),
        (1, 1, 1, 1, 1),
        (1, 2, 65, 33, 1),
        (1, 1, 130, 64, 0),
        (1, 1, 81, 256, 1),
        (1, 1, 17, 255, 0),
        (1, 1, 129, 100, 1),
    ),
}


@lru_cache(maxsize=1)
def _loaded(name: str) -> tuple[Description, Module, Mapping[str, str]]:
    files = FILES[KernelId.parse(name)]
    description = parse_description(files[DESCRIPTION_PATH])
    names = tuple(dict.fromkeys(launch.kernel for launch in description.launches))
    source = compiled(files[description.entry_source].decode(), names=names)
    return description, source.module, source.names


def _run(name: str, problem: Problem, dims: Dims, inputs: Arrays) -> Arrays:
    """Return the outputs of one call, begun with poisoned outputs and scratch; inputs are read-only."""
    description, module, symbols = _loaded(name)
    plan = plan_launches(description, problem, dims)
    device = EmulatedDevice()
    buffers: dict[str, DeviceArgument] = {
        key: device.allocate(values.nbytes, key, is_read_only=True, content=values)
        for key, values in inputs.items()
    }
    shapes = problem.shapes(dims)
    outputs = {}
    for tensor in problem.outputs:
        dtype = np.dtype(NUMPY_TYPES[tensor.dtype])
        outputs[tensor.name] = device.allocate(int(np.prod(shapes[tensor.name])) * dtype.itemsize, tensor.name)
    buffers |= outputs
    buffers |= {scratch.name: device.allocate(scratch.nbytes, scratch.name) for scratch in plan.scratch}
    for launch in plan.launches:
        arguments = [
            argument.as_numpy if isinstance(argument, ScalarArgument) else buffers[argument.name]
            for argument in launch.arguments
        ]
        sizes = (launch.grid, launch.block, launch.shared_bytes)
        device.launch(module, DeviceLaunch(symbols[launch.kernel], *sizes, arguments))
    return {
        tensor.name: device.fetch(outputs[tensor.name], NUMPY_TYPES[tensor.dtype], shapes[tensor.name])
        for tensor in problem.outputs
    }


def _cases(problem: Problem, distributions: tuple[str, ...]) -> list[tuple[Dims, str]]:
    coin = random.Random(str(problem.id))
    hidden = [
        {**problem.dry_run, **{key: coin.randint(*span) for key, span in problem.hidden.ranges.items()}}
        for _ in range(2)
    ]
    sizes = [*EDGES[problem.id.op_class], *hidden]
    return [
        *((problem.dry_run, distribution) for distribution in distributions),
        *((dims, coin.choice(distributions)) for dims in sizes),
    ]


@pytest.mark.parametrize("name", [str(kernel_id) for kernel_id in FILES])
def test_its_results_are_within_the_tolerance(name: str) -> None:
    kernel_id = KernelId.parse(name)
    files = PROBLEM_FILES[kernel_id.problem]
    problem = parse_problem(files["problem.yaml"], kernel_id.problem)
    reference: dict[str, Any] = {}
    exec(files["reference.py"], reference)
    rng = np.random.default_rng(7)
    for dims, distribution in _cases(problem, reference["DISTRIBUTIONS"]):
        drawn = reference["inputs"](dims, distribution, rng)
        inputs = {
            tensor.name: np.ascontiguousarray(drawn[tensor.name], NUMPY_TYPES[tensor.dtype])
            for tensor in problem.inputs
        }
        outputs = _run(name, problem, dims, inputs)
        meant = {
            key: values.astype("f8") if values.dtype.kind == "f" else values for key, values in inputs.items()
        }
        truth = reference["reference"](meant, problem.scalar_values(dims))
        for tensor in problem.outputs:
            expected, terms = (np.asarray(part, "f8").ravel() for part in truth[tensor.name])
            is_exact = distribution in reference["EXACT"]
            judge = Judge(problem, tensor.dtype, dims, is_exact, expected, terms)
            output = outputs[tensor.name].ravel().view(np.uint8)
            assert judge.first_wrong(output) is None, (dims, distribution)
            assert not judge.breaks_guard(output), (dims, distribution)
