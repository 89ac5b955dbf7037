"""Sum of a vector: inputs, the float64 truth with the sum of absolute terms, honest ways to it and wrong ones.

The integers are so small that every partial sum is exact in fp32: there an answer in any order must be equal.
"""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "integers", "cancelling")
EXACT = ("integers",)
EXACT_BELOW = 2**24
LANES = 16


def draw(rng, n, distribution):
    """Return one input as float32."""
    x = rng.standard_normal(n, np.float32)
    if distribution == "uniform":
        return rng.random(n, np.float32) * np.float32(2) - np.float32(1)
    if distribution == "integers":
        largest = max(1, min(1000, EXACT_BELOW // n))
        x = (rng.integers(1, largest + 1, n) * (2 * rng.integers(0, 2, n) - 1)).astype(np.float32)
        x[EXACT_BELOW:] = 0
        return x
    if distribution == "positive":
        return np.abs(x)
    if distribution == "row_scaled":
        return x * np.float32(10) ** rng.uniform(-3, 3, n).astype(np.float32)
    if distribution == "outliers":
        return np.where(rng.random(n) < 0.01, x * np.float32(1000), x)
    if distribution == "sparse":
        return np.where(rng.random(n) < 0.95, np.float32(0), x)
    if distribution == "cancelling":
        x = np.abs(x) * np.float32(rng.uniform(1, 4))
        x[1::2] = -x[:-1:2] * np.float32(1 - 2**-6)
        return rng.permutation(x)
    return x


def inputs(dims, distribution, rng):
    return {"x": draw(rng, dims["n"], distribution)}


def reference(inputs, scalars):
    x = inputs["x"]
    return {"z": (x.sum(keepdims=True), np.abs(x).sum(keepdims=True))}


def in_order(terms):
    """Return the sum from the first to the last term, rounded to fp32 at each step."""
    return np.cumsum(terms, dtype=np.float32)[-1:]


def lanes_of(terms):
    """Return the sums of `LANES` accumulators that take turns."""
    whole = np.append(terms, np.zeros(-terms.size % LANES, np.float32)).reshape(-1, LANES)
    return np.cumsum(whole, axis=0, dtype=np.float32)[-1]


def sequential(inputs, scalars):
    return {"z": in_order(inputs["x"])}


def backwards(inputs, scalars):
    return {"z": in_order(inputs["x"][::-1])}


def pairwise(inputs, scalars):
    return {"z": inputs["x"].sum(keepdims=True, dtype=np.float32)}


def blocked(inputs, scalars):
    blocks = np.array_split(inputs["x"], max(1, inputs["x"].size // 4096))
    return {"z": in_order(np.concatenate([in_order(block) for block in blocks]))}


def in_lanes(inputs, scalars):
    return {"z": in_order(lanes_of(inputs["x"]))}


def missing_last_input(inputs, scalars):
    return {"z": in_order(np.append(np.float32(0), inputs["x"][:-1]))}


def unfinished_tail(inputs, scalars):
    return {"z": in_order(np.append(np.float32(0), inputs["x"][:-8]))}


def unfolded_lanes(inputs, scalars):
    return {"z": in_order(lanes_of(inputs["x"])[: LANES // 2])}


def lost_signs(inputs, scalars):
    return {"z": in_order(np.abs(inputs["x"]))}


def mean_instead_of_sum(inputs, scalars):
    return {"z": in_order(inputs["x"]) / np.float32(inputs["x"].size)}


def sum_of_squares(inputs, scalars):
    return {"z": in_order(inputs["x"] * inputs["x"])}


VARIANTS = {
    "sequential": sequential,
    "backwards": backwards,
    "pairwise": pairwise,
    "blocked": blocked,
    "in_lanes": in_lanes,
}

MUTANTS = {
    "missing_last_input": missing_last_input,
    "unfinished_tail": unfinished_tail,
    "unfolded_lanes": unfolded_lanes,
    "lost_signs": lost_signs,
    "mean_instead_of_sum": mean_instead_of_sum,
    "sum_of_squares": sum_of_squares,
}
