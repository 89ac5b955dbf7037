"""The bound on errors: honest orders of summation pass with room, cheaper arithmetic does not."""

import math
from dataclasses import replace

import numpy as np
import pytest

from native_bench.cpu.bounds import Judge, read_values
from submissions.kernel_package.problem import Problem, Tolerance

TERMS = 4096


def judge_of(problem: Problem, terms: np.ndarray, **changes: object) -> Judge:
    tolerance = Tolerance(kind="bound", terms=TERMS, accumulate="fp32", c=4.0)
    values = terms.astype(np.float64)
    judge = Judge(
        problem=replace(problem, tolerance=tolerance),
        dtype="fp32",
        dims={"n": TERMS},
        is_exact=False,
        reference=values.sum(axis=1),
        terms=np.abs(values).sum(axis=1),
    )
    return replace(judge, **changes)


def stored(values: np.ndarray, dtype: str = "f4") -> np.ndarray:
    return np.ascontiguousarray(values.astype(dtype)).view(np.uint8)


@pytest.fixture
def terms() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(16, TERMS)).astype(np.float32)


@pytest.mark.parametrize("order", ["forward", "backward", "blocks"])
def test_it_passes_honest_sums_with_room(problem: Problem, terms: np.ndarray, order: str) -> None:
    walked = terms[:, ::-1] if order == "backward" else terms
    if order == "blocks":
        total = walked.reshape(16, 64, 64).sum(axis=2, dtype=np.float32).sum(axis=1, dtype=np.float32)
    else:
        total = np.add.accumulate(walked, axis=1, dtype=np.float32)[:, -1]
    judge = judge_of(problem, terms)
    assert judge.first_wrong(stored(total)) is None
    assert not judge.breaks_guard(stored(total))
    assert judge.scaled_error(stored(total)) < 0.25


def test_it_refuses_half_precision_zeros_and_a_small_scale(problem: Problem, terms: np.ndarray) -> None:
    judge = judge_of(problem, terms)
    half = np.add.accumulate(terms.astype(np.float16), axis=1, dtype=np.float16)[:, -1].astype(np.float32)
    right = judge.reference
    for wrong in (half, np.zeros(16), np.full(16, right.mean()), right * 1.01):
        assert judge.first_wrong(stored(wrong)) is not None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_it_never_passes_what_is_not_finite(problem: Problem, terms: np.ndarray, value: float) -> None:
    judge = judge_of(problem, terms)
    output = judge.reference.copy()
    output[5] = value
    wrong = judge.first_wrong(stored(output))
    assert wrong is not None
    assert wrong.index == 5


def test_its_guard_adds_up_errors_that_all_point_one_way(problem: Problem) -> None:
    terms = np.random.default_rng(8).random((64, TERMS)).astype(np.float32)
    judge = judge_of(problem, terms)
    shifted = judge.reference + 0.9 * judge.allowed
    assert judge.first_wrong(stored(shifted)) is None
    loose = replace(judge, problem=replace(problem, tolerance=Tolerance("bound", TERMS, "fp32", 1000.0)))
    assert loose.first_wrong(stored(judge.reference * 1.0005)) is None
    assert loose.breaks_guard(stored(judge.reference * 1.0005))


def test_it_wants_equality_where_everything_is_exact(problem: Problem) -> None:
    judge = judge_of(problem, np.ones((4, TERMS), np.float32), is_exact=True)
    assert judge.first_wrong(stored(judge.reference)) is None
    assert judge.first_wrong(stored(judge.reference + np.array([0, 0, 1, 0]))) is not None
    assert not judge.breaks_guard(stored(judge.reference + 1))


def test_it_counts_units_in_the_last_place(problem: Problem) -> None:
    tolerance = Tolerance(kind="ulp", max=4)
    reference = np.array([1.0, 2.0, 1000.0])
    judge = Judge(replace(problem, tolerance=tolerance), "fp32", {"n": 3}, False, reference, reference)
    ulps = np.spacing(reference.astype(np.float32)).astype(np.float64)
    assert judge.first_wrong(stored(reference + 3 * ulps)) is None
    assert judge.first_wrong(stored(reference + 6 * ulps)) is not None


@pytest.mark.parametrize(("dtype", "kind"), [("i64", "i8"), ("u64", "u8"), ("i32", "i4"), ("u8", "u1")])
def test_it_compares_integers_exactly(problem: Problem, dtype: str, kind: str) -> None:
    wide = kind if kind in ("i8", "u8") else "f8"
    values = np.array([1, 2, 200 if kind == "u1" else (1 << 62) + 1 if wide != "f8" else 1 << 30])
    tolerance = Tolerance(kind="exact")
    judge = Judge(replace(problem, tolerance=tolerance), dtype, {"n": 3}, False, values.astype(wide), np.ones(3))
    low, high = judge.bounds()
    assert (low == high).all()
    assert judge.first_wrong(stored(values, kind)) is None
    assert judge.scaled_error(stored(values, kind)) == 0
    wrong = judge.first_wrong(stored(values - np.array([0, 0, 1]), kind))
    assert wrong is not None
    assert wrong.index == 2


def test_it_reads_bfloat_bits() -> None:
    assert read_values(np.array([0x3F80, 0xC000], "<u2").view(np.uint8), "bf16").tolist() == [1.0, -2.0]
    assert read_values(np.array([1.5], "f2").view(np.uint8), "fp16").tolist() == [1.5]
