"""A package's launches at some dims: resolved to numbers and bytes, or refused before any GPU is asked."""

from typing import Any

import numpy as np
import pytest

from native_bench.gpu.launch_plan import (
    LaunchPlan,
    PlanLimits,
    ScalarArgument,
    ScratchArgument,
    ScratchBuffer,
    TensorArgument,
    check_signature,
    plan_launches,
    shared_bytes_limit,
)
from native_bench.outcome import RunEnded
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.description import parse_description
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem import Problem, parse_problem
from submissions.kernel_package.strict_yaml import dump_yaml

Document = dict[str, Any]

PROBLEM_YAML = b"""
schema_version: 1
version: 1
title: Scaled sum
description: z = a*x + y
parameters:
  - {name: n, label: Length, min: 1, max: 10000000000, default: 640}
  - {name: s, label: Step, min: 0, max: 64, default: 1}
tensors:
  - {name: x, role: in, dtype: fp32, shape: [n]}
  - {name: y, role: in, dtype: fp16, shape: [n, 2]}
  - {name: z, role: out, dtype: fp64, shape: [n]}
scalars:
  - {name: a, dtype: fp32, value: 2.5}
  - {name: n, dtype: i64, value: n}
  - {name: s, dtype: i32, value: s}
cases: [{id: n640, dims: {n: 640, s: 1}, distribution: uniform, weight: 1}]
hidden: {count: 0, ranges: {}}
tolerance: {kind: bound, terms: 2, accumulate: fp32, c: 4}
flops: 2*n
bytes_min: 16*n
unit: fp32_fma
mode: hot
timeout_s: 1
memory_bytes: 16*n
must_fail: [zeros]
"""
DIMS = {"n": 1000, "s": 3}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return parse_problem(PROBLEM_YAML, ProblemId.parse("Vector/scale/fp32"))


@pytest.fixture
def launch() -> Document:
    return {
        "kernel": "scale<256>",
        "grid": ["ceil_div(n, 256)", 2, 1],
        "block": [256, 1, 1],
        "shared_bytes": "4*s",
        "args": ["x", "y", "z", "a", "n", "tmp", {"i32": "n // 4"}, {"u8": 255}, {"bf16": 1.0}],
    }


def document(launch: Document, arch: str = "sm_90") -> Document:
    return {
        "schema_version": 1,
        "kernel_id": f"{arch}/Vector/scale/fp32/tried",
        "title": "Tried",
        "language": "cuda",
        "harness": "rawkernel",
        "entry": {"source": "src/kernel.cu"},
        "authors": ["tester"],
        "license": "MIT",
        "scratch": [{"name": "tmp", "dtype": "fp32", "shape": ["n", "s"]}],
        "launches": [launch],
    }


def planned(problem: Problem, written: Document, dims: dict[str, int] = DIMS, **limits: int) -> LaunchPlan:
    return plan_launches(parse_description(dump_yaml(written)), problem, dims, PlanLimits(**limits))


def refusal(problem: Problem, written: Document, dims: dict[str, int] = DIMS, **limits: int) -> Rejected:
    with pytest.raises(Rejected) as caught:
        planned(problem, written, dims, **limits)
    return caught.value


def test_it_resolves_sizes_arguments_and_scratch(problem: Problem, launch: Document) -> None:
    plan = planned(problem, document(launch))
    assert plan.scratch == (ScratchBuffer("tmp", "fp32", 12000),)
    assert plan.scratch_bytes == 12000
    [resolved] = plan.launches
    assert (resolved.kernel, resolved.grid, resolved.block) == ("scale<256>", (4, 2, 1), (256, 1, 1))
    assert (resolved.shared_bytes, resolved.block_threads) == (12, 256)
    assert resolved.arguments == (
        TensorArgument("x", "fp32", 4000),
        TensorArgument("y", "fp16", 4000),
        TensorArgument("z", "fp64", 8000),
        ScalarArgument("a", "fp32", 2.5),
        ScalarArgument("n", "i64", 1000),
        ScratchArgument("tmp", "fp32", 12000),
        ScalarArgument("n // 4", "i32", 250),
        ScalarArgument("255", "u8", 255),
        ScalarArgument("1.0", "bf16", 1.0),
    )


def test_it_keeps_the_order_of_the_launches(problem: Problem, launch: Document) -> None:
    written = document(launch)
    written["launches"].append(launch | {"kernel": "finish", "grid": [1, 1, 1], "args": ["tmp"]})
    assert [resolved.kernel for resolved in planned(problem, written).launches] == ["scale<256>", "finish"]


@pytest.mark.parametrize(
    ("dtype", "value", "data"),
    [
        ("fp64", 2.5, np.float64(2.5).tobytes()),
        ("fp32", 0.1, np.float32(0.1).tobytes()),
        ("fp16", 65504.0, b"\xff\x7b"),
        ("bf16", 1.0, b"\x80\x3f"),
        ("bf16", 1.00390625, b"\x80\x3f"),  # halfway: to the even one
        ("bf16", 1.01171875, b"\x82\x3f"),
        ("i8", -128, b"\x80"),
        ("i16", -2, b"\xfe\xff"),
        ("i32", -1, b"\xff\xff\xff\xff"),
        ("i64", -1, b"\xff" * 8),
        ("u8", 255, b"\xff"),
        ("u16", 258, b"\x02\x01"),
        ("u32", (1 << 32) - 1, b"\xff\xff\xff\xff"),
        ("u64", (1 << 62) + 1, b"\x01" + bytes(6) + b"\x40"),
    ],
)
def test_a_scalar_has_the_bytes_of_its_type(
    problem: Problem, launch: Document, dtype: str, value: float, data: bytes
) -> None:
    launch["args"] = [{dtype: value}]
    [argument] = planned(problem, document(launch)).launches[0].arguments
    assert isinstance(argument, ScalarArgument)
    assert argument.data == data
    assert argument.size_bytes == len(data)


def test_an_expression_becomes_a_float_where_the_type_is_one(problem: Problem, launch: Document) -> None:
    launch["args"] = [{"fp32": "n + 1"}]
    [argument] = planned(problem, document(launch)).launches[0].arguments
    assert argument == ScalarArgument("n + 1", "fp32", 1001.0)


@pytest.mark.parametrize(
    ("change", "code", "why"),
    [
        ({"args": ["q"]}, "package:launch", "the argument 'q' is no tensor, scalar or scratch buffer"),
        ({"args": [{"i32": 0.5}]}, "package:launch", "0.5 is no i32"),
        ({"args": [{"i32": 1 << 31}]}, "package:launch", "2147483648 does not fit i32"),
        ({"args": [{"u8": -1}]}, "package:launch", "-1 does not fit u8"),
        ({"args": [{"i8": "n"}]}, "package:launch", "1000 does not fit i8"),
        ({"args": [{"fp16": 65536.0}]}, "package:launch", "65536.0 is no finite fp16"),
        ({"args": [{"fp32": 1e39}]}, "package:launch", "1e+39 is no finite fp32"),
        ({"args": [{"i32": "n //"}]}, "package:expression", "it ends too early"),
        ({"args": [{"i32": "k"}]}, "package:expression", "'k' is not a dim"),
        ({"grid": ["n // (s - 3)", 1, 1]}, "package:expression", "it divides by zero"),
        ({"grid": ["n * n * n * n * n * n * n", 1, 1]}, "package:expression", "does not fit 64 bits"),
        ({"grid": ["s - 3", 1, 1]}, "package:launch", "the grid [0, 1, 1] is not within"),
        ({"grid": [1, "-n", 1]}, "package:launch", "the grid [1, -1000, 1] is not within"),
        ({"grid": [1 << 31, 1, 1]}, "package:launch", "the grid [2147483648, 1, 1] is not within"),
        ({"grid": [1, 65536, 1]}, "package:launch", "the grid [1, 65536, 1] is not within"),
        ({"grid": [1, 1, 65536]}, "package:launch", "the grid [1, 1, 65536] is not within"),
        ({"block": [0, 1, 1]}, "package:launch", "the block [0, 1, 1] is not within"),
        ({"block": [1025, 1, 1]}, "package:launch", "the block [1025, 1, 1] is not within"),
        ({"block": [1, 1025, 1]}, "package:launch", "the block [1, 1025, 1] is not within"),
        ({"block": [1, 1, 65]}, "package:launch", "the block [1, 1, 65] is not within"),
        ({"block": [33, 32, 1]}, "package:launch", "has more than 1024 threads"),
        ({"shared_bytes": -4}, "package:launch", "shared_bytes is -4"),
        ({"shared_bytes": 232449}, "package:launch", "shared_bytes is 232449, sm_90 has 232448 for a block"),
    ],
)
def test_it_refuses_what_cannot_be_launched(
    problem: Problem, launch: Document, change: Document, code: str, why: str
) -> None:
    fault = refusal(problem, document(launch | change))
    assert fault.code == code
    assert why in fault.message


def test_it_says_which_launch_at_which_dims(problem: Problem, launch: Document) -> None:
    fault = refusal(problem, document(launch | {"block": [2048, 1, 1]}))
    assert fault.message.startswith("launch of 'scale<256>' at n=1000 s=3: the block [2048, 1, 1]")


@pytest.mark.parametrize(
    ("arch", "most"),
    [
        ("sm_80", 163 << 10),
        ("sm_86", 99 << 10),
        ("sm_90", 227 << 10),
        ("sm_90a", 227 << 10),
        ("sm_100", 227 << 10),
    ],
)
def test_shared_memory_is_limited_by_the_arch(problem: Problem, launch: Document, arch: str, most: int) -> None:
    assert shared_bytes_limit(arch) == most
    launch["shared_bytes"] = most
    assert planned(problem, document(launch, arch)).launches[0].shared_bytes == most
    launch["shared_bytes"] = most + 1
    assert f"{arch} has {most} for a block" in refusal(problem, document(launch, arch)).message


def test_an_arch_without_known_limits_leaves_shared_memory_to_the_driver(
    problem: Problem, launch: Document
) -> None:
    assert shared_bytes_limit("sm_999") is None
    launch["shared_bytes"] = 512 << 10
    assert planned(problem, document(launch, "sm_999")).launches[0].shared_bytes == 512 << 10


@pytest.mark.parametrize(
    ("scratch", "why"),
    [
        ({"name": "x"}, "the scratch buffer 'x' has the name of another argument"),
        ({"shape": ["n - 1001"]}, "at n=1000 s=3 the scratch buffer 'tmp' has a negative size"),
        ({"shape": ["n", "1 << 4"]}, "is not allowed in it"),
    ],
)
def test_it_refuses_bad_scratch(problem: Problem, launch: Document, scratch: Document, why: str) -> None:
    written = document(launch)
    written["scratch"][0].update(scratch)
    assert why in refusal(problem, written).message


def test_it_refuses_more_scratch_than_a_call_may_have(problem: Problem, launch: Document) -> None:
    assert planned(problem, document(launch), scratch_bytes=12000).scratch_bytes == 12000
    fault = refusal(problem, document(launch), scratch_bytes=11999)
    assert fault.message == "at n=1000 s=3 the scratch buffers have 12000 bytes, the limit is 11999"


def test_it_refuses_more_launches_than_a_call_may_have(problem: Problem, launch: Document) -> None:
    written = document(launch)
    written["launches"] = [launch] * 3
    assert len(planned(problem, written, launches=3).launches) == 3
    fault = refusal(problem, written, launches=2)
    assert (fault.code, fault.message) == ("package:launch", "there are 3 launches, the limit is 2")


def test_it_refuses_a_scalar_of_the_problem_that_its_type_cannot_hold(problem: Problem, launch: Document) -> None:
    launch["args"] = ["s"]
    fault = refusal(problem, document(launch), {"n": 0, "s": 1 << 31})
    assert "scalar 's' at n=0 s=2147483648: 2147483648 does not fit i32" in fault.message


SIZES = [8, 8, 8, 4, 8, 8, 4, 1, 2]


def test_a_signature_that_fits_is_let_through(problem: Problem, launch: Document) -> None:
    check_signature(planned(problem, document(launch)), {"scale<256>": SIZES})


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ([*SIZES[:4], 4, *SIZES[5:]], "argument 4 (n, i64) has 8 bytes, the kernel expects 4"),
        ([4, *SIZES[1:]], "argument 0 (x, pointer to fp32) has 8 bytes, the kernel expects 4"),
        ([*SIZES[:6], 8, *SIZES[7:]], "argument 6 (n // 4, i32) has 4 bytes, the kernel expects 8"),
        (SIZES[:-1], "it passes 9 arguments, the kernel takes 8"),
    ],
)
def test_a_signature_that_does_not_fit_ends_the_run(
    problem: Problem, launch: Document, sizes: list[int], why: str
) -> None:
    with pytest.raises(RunEnded) as caught:
        check_signature(planned(problem, document(launch)), {"scale<256>": sizes})
    assert (caught.value.verdict, caught.value.code) == (Verdict.BUILD_FAILED, "build:signature")
    assert caught.value.message == f"launch of 'scale<256>': {why}"
