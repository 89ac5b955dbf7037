"""Scaled vector addition: inputs, the float64 truth with the sum of absolute terms, honest ways and wrong ones."""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "integers", "cancelling")
EXACT = ("integers",)


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
        return x * np.float32(10) ** rng.uniform(-3, 3, shape).astype(np.float32)
    if distribution == "outliers":
        return np.where(rng.random(shape) < 0.01, x * np.float32(1000), x)
    if distribution == "sparse":
        return np.where(rng.random(shape) < 0.95, np.float32(0), x)
    return x


def inputs(dims, distribution, rng):
    x = draw(rng, (dims["n"],), distribution)
    y = draw(rng, (dims["n"],), distribution)
    if distribution == "cancelling":
        y = x * np.float32(-2.498)
    return {"x": x, "y": y}


def reference(inputs, scalars):
    product = scalars["a"] * inputs["x"]
    return {"z": (product + inputs["y"], np.abs(product) + np.abs(inputs["y"]))}


def rounded_twice(inputs, scalars):
    return {"z": np.float32(scalars["a"]) * inputs["x"] + inputs["y"]}


def fused(inputs, scalars):
    exact = np.float64(scalars["a"]) * inputs["x"].astype(np.float64) + inputs["y"]
    return {"z": exact.astype(np.float32)}


def subtracted_from(inputs, scalars):
    return {"z": inputs["y"] - np.float32(-scalars["a"]) * inputs["x"]}


def blocked(compute):
    """Return `compute` done in blocks of 256 elements, the last block first."""

    def in_blocks(inputs, scalars):
        x, y = inputs["x"], inputs["y"]
        z = np.empty_like(x)
        for begin in reversed(range(0, x.size, 256)):
            part = slice(begin, begin + 256)
            z[part] = compute({"x": x[part], "y": y[part]}, scalars)["z"]
        return {"z": z}

    return in_blocks


def unscaled(inputs, scalars):
    return {"z": inputs["x"] + inputs["y"]}


def scaled_y(inputs, scalars):
    return {"z": inputs["x"] + np.float32(scalars["a"]) * inputs["y"]}


def scaled_sum(inputs, scalars):
    return {"z": np.float32(scalars["a"]) * (inputs["x"] + inputs["y"])}


def subtracted_y(inputs, scalars):
    return {"z": np.float32(scalars["a"]) * inputs["x"] - inputs["y"]}


def unfinished_tail(inputs, scalars):
    z = rounded_twice(inputs, scalars)["z"].copy()
    z[-8:] = 0
    return {"z": z}


def neighbour_of_y(inputs, scalars):
    return rounded_twice({**inputs, "y": np.roll(inputs["y"], 1)}, scalars)


VARIANTS = {
    "rounded_twice": rounded_twice,
    "fused": fused,
    "subtracted_from": subtracted_from,
    "blocked": blocked(rounded_twice),
}

MUTANTS = {
    "unscaled": unscaled,
    "scaled_y": scaled_y,
    "scaled_sum": scaled_sum,
    "subtracted_y": subtracted_y,
    "unfinished_tail": unfinished_tail,
    "neighbour_of_y": neighbour_of_y,
}
