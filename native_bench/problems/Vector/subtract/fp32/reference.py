"""Vector subtraction: inputs, the float64 truth with the sum of absolute terms, honest ways and wrong ones."""

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
        y = x * np.float32(1.001)
    return {"x": x, "y": y}


def reference(inputs, scalars):
    x, y = inputs["x"], inputs["y"]
    return {"z": (x - y, np.abs(x) + np.abs(y))}


def subtracted(inputs, scalars):
    return {"z": inputs["x"] - inputs["y"]}


def negated_added(inputs, scalars):
    return {"z": -inputs["y"] + inputs["x"]}


def rounded_once(inputs, scalars):
    difference = inputs["x"].astype(np.float64) - inputs["y"].astype(np.float64)
    return {"z": difference.astype(np.float32)}


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


def swapped_operands(inputs, scalars):
    return {"z": inputs["y"] - inputs["x"]}


def added(inputs, scalars):
    return {"z": inputs["x"] + inputs["y"]}


def unfinished_tail(inputs, scalars):
    z = subtracted(inputs, scalars)["z"].copy()
    z[-8:] = 0
    return {"z": z}


def neighbour_of_y(inputs, scalars):
    return subtracted({**inputs, "y": np.roll(inputs["y"], 1)}, scalars)


VARIANTS = {
    "subtracted": subtracted,
    "negated_added": negated_added,
    "rounded_once": rounded_once,
    "blocked": blocked(subtracted),
}

MUTANTS = {
    "swapped_operands": swapped_operands,
    "added": added,
    "unfinished_tail": unfinished_tail,
    "neighbour_of_y": neighbour_of_y,
}
