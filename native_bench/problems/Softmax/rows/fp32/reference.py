"""Softmax of each row: inputs, and the float64 truth with its condition.

An error in x - max is multiplied by exp: relative to the result it counts |x - max| times, so the terms carry it.
Many equal powers (sparse inputs) round in one direction each time they are added: the error of a plain loop then
grows with the columns and not with their root, and the bound's c leaves room for that.
"""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "cancelling")
EXACT = ()


def draw(rng, shape, distribution):
    """Return one input as float32; `shape[-1]` is the axis along which a kernel walks."""
    x = rng.standard_normal(shape, np.float32)
    if distribution == "uniform":
        return rng.random(shape, np.float32) * np.float32(2) - np.float32(1)
    if distribution == "integers":
        return rng.integers(-3, 4, shape).astype(np.float32)
    if distribution == "positive":
        return np.abs(x)
    if distribution == "row_scaled":
        return x * np.float32(10) ** rng.uniform(-3, 3, (*shape[:-1], 1)).astype(np.float32)
    if distribution == "outliers":
        return np.where(rng.random(shape) < 0.01, x * np.float32(1000), x)
    if distribution == "sparse":
        return np.where(rng.random(shape) < 0.95, np.float32(0), x)
    if distribution == "cancelling":
        half = shape[-1] // 2
        x[..., half : 2 * half] = -x[..., :half] * np.float32(1.0001)
        return x
    return x


def inputs(dims, distribution, rng):
    return {"x": draw(rng, (dims["rows"], dims["cols"]), distribution)}


def reference(inputs, scalars):
    below = inputs["x"] - inputs["x"].max(axis=1, keepdims=True)
    powers = np.exp(below)
    y = powers / powers.sum(axis=1, keepdims=True)
    return {"y": (y, y * (1 + np.abs(below)))}


def below_largest(x):
    return x - x.max(axis=1, keepdims=True)


def three_passes(inputs, scalars):
    powers = np.exp(below_largest(inputs["x"]))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


def reversed_sum(inputs, scalars):
    powers = np.exp(below_largest(inputs["x"]))
    backwards = np.ascontiguousarray(powers[:, ::-1])
    return {"y": powers * (np.float32(1) / backwards.sum(axis=1, keepdims=True))}


def lane_sums(inputs, scalars):
    """Add the powers one by one into sixteen sums, then the sums."""
    powers = np.exp(below_largest(inputs["x"]))
    padded = np.pad(powers, ((0, 0), (0, -powers.shape[1] % 16)))
    lanes = padded.reshape(powers.shape[0], -1, 16).cumsum(axis=1, dtype=np.float32)[:, -1]
    return {"y": powers / lanes.cumsum(axis=1, dtype=np.float32)[:, -1:]}


def powers_of_two(inputs, scalars):
    powers = np.exp2(below_largest(inputs["x"]) * np.float32(np.log2(np.e)))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


def online(inputs, scalars):
    """Read x in blocks; a larger maximum scales what was summed so far."""
    x = inputs["x"]
    largest = np.full((x.shape[0], 1), -np.inf, np.float32)
    total = np.zeros((x.shape[0], 1), np.float32)
    for c in range(0, x.shape[1], 64):
        block = x[:, c : c + 64]
        now = np.maximum(largest, block.max(axis=1, keepdims=True))
        total = total * np.exp(largest - now) + np.exp(block - now).sum(axis=1, keepdims=True)
        largest = now
    return {"y": np.exp(x - largest) / total}


def no_max_subtraction(inputs, scalars):
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(inputs["x"])
        return {"y": powers / powers.sum(axis=1, keepdims=True)}


def along_columns(inputs, scalars):
    powers = np.exp(inputs["x"] - inputs["x"].max(axis=0))
    return {"y": powers / powers.sum(axis=0)}


def over_all_rows(inputs, scalars):
    powers = np.exp(inputs["x"] - inputs["x"].max())
    return {"y": powers / powers.sum()}


def unnormalised(inputs, scalars):
    return {"y": np.exp(below_largest(inputs["x"]))}


def base_two(inputs, scalars):
    powers = np.exp2(below_largest(inputs["x"]))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


def tail_counted_as_zeros(inputs, scalars):
    """Fill the last vector of sixteen up with zeros and count them in the sum."""
    x = inputs["x"]
    padding = 16 - x.shape[1] % 16
    largest = np.maximum(x.max(axis=1, keepdims=True), np.float32(0))
    powers = np.exp(x - largest)
    return {"y": powers / (powers.sum(axis=1, keepdims=True) + padding * np.exp(-largest))}


def rough_exponential(inputs, scalars):
    """Take the exponential from the bits of one linear function: a few per cent off."""
    scaled = np.maximum(below_largest(inputs["x"]) * np.float32(2**23 / np.log(2)), np.float32(-126 * 2**23))
    powers = (scaled.astype(np.int32) + np.int32(127 * 2**23 - 366393)).view(np.float32)
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


VARIANTS = {
    "three_passes": three_passes,
    "reversed": reversed_sum,
    "lane_sums": lane_sums,
    "powers_of_two": powers_of_two,
    "online": online,
}
MUTANTS = {
    "no_max_subtraction": no_max_subtraction,
    "along_columns": along_columns,
    "over_all_rows": over_all_rows,
    "unnormalised": unnormalised,
    "base_two": base_two,
    "tail_counted_as_zeros": tail_counted_as_zeros,
    "rough_exponential": rough_exponential,
}
