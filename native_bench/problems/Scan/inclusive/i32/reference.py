"""Inclusive prefix sum of integers: inputs whose sums stay in range, the exact truth, right and wrong ways."""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "outliers", "sparse", "integers", "cancelling")
EXACT = ("uniform", "normal", "positive", "outliers", "sparse", "integers", "cancelling")
LARGEST = 2**31 - 1
BLOCK = 256


def draw(rng, n, distribution):
    """Return one input; n times its greatest element fits 32 bits."""
    limit = min(2**20, LARGEST // n)
    x = rng.integers(-limit, limit + 1, n)
    if distribution == "normal":
        return np.clip(np.rint(rng.standard_normal(n) * (limit / 4)), -limit, limit)
    if distribution == "positive":
        return np.abs(x)
    if distribution == "outliers":
        return np.where(rng.random(n) < 0.01, x, x % 7 - 3)
    if distribution == "sparse":
        return np.where(rng.random(n) < 0.95, 0, x)
    if distribution == "integers":
        return x % 7 - 3
    if distribution == "cancelling":
        half = n // 2
        x[half : 2 * half] = -x[:half]
        return x
    return x


def inputs(dims, distribution, rng):
    return {"x": draw(rng, dims["n"], distribution).astype(np.int32)}


def reference(inputs, scalars):
    sums = np.cumsum(inputs["x"], dtype=np.int64)
    return {"y": (sums, np.abs(sums))}


def sequential(inputs, scalars):
    return {"y": np.cumsum(inputs["x"], dtype=np.int32)}


def blocked(inputs, scalars):
    y = np.empty_like(inputs["x"])
    carry = np.int32(0)
    for begin in range(0, y.size, BLOCK):
        y[begin : begin + BLOCK] = carry + np.cumsum(inputs["x"][begin : begin + BLOCK], dtype=np.int32)
        carry = y[begin : begin + BLOCK][-1]
    return {"y": y}


def doubling(inputs, scalars):
    y = inputs["x"].copy()
    reach = 1
    while reach < y.size:
        y[reach:] = y[reach:] + y[:-reach]
        reach *= 2
    return {"y": y}


def from_the_end(inputs, scalars):
    x = inputs["x"]
    behind = np.cumsum(x[::-1], dtype=np.int32)[::-1] - x
    return {"y": x.sum(dtype=np.int32) - behind}


def exclusive_scan(inputs, scalars):
    return {"y": sequential(inputs, scalars)["y"] - inputs["x"]}


def missing_carry(inputs, scalars):
    y = sequential(inputs, scalars)["y"]
    return {"y": np.concatenate([y[at : at + BLOCK] - (y[at - 1] if at else 0) for at in range(0, y.size, BLOCK)])}


def late_carry(inputs, scalars):
    """The blocks' own sums, each with the carry that the block before it should have had."""
    y = sequential(inputs, scalars)["y"].copy()
    total = y.copy()
    for at in range(BLOCK, y.size, BLOCK):
        y[at : at + BLOCK] -= total[at - 1] - (total[at - BLOCK - 1] if at > BLOCK else 0)
    return {"y": y}


def suffix_sums(inputs, scalars):
    return {"y": np.cumsum(inputs["x"][::-1], dtype=np.int32)[::-1]}


def running_maximum(inputs, scalars):
    return {"y": np.maximum.accumulate(inputs["x"])}


def fp32_accumulator(inputs, scalars):
    return {"y": np.cumsum(inputs["x"], dtype=np.float32).astype(np.int32)}


VARIANTS = {
    "sequential": sequential,
    "blocked": blocked,
    "doubling": doubling,
    "from_the_end": from_the_end,
}

MUTANTS = {
    "exclusive_scan": exclusive_scan,
    "missing_carry": missing_carry,
    "late_carry": late_carry,
    "suffix_sums": suffix_sums,
    "running_maximum": running_maximum,
    "fp32_accumulator": fp32_accumulator,
}
