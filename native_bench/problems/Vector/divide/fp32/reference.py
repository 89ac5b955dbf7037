"""Vector division: inputs, the float64 truth with its absolute value, honest ways to it and wrong ones.

Divisors keep a distance from zero. The bound leaves room for a refined reciprocal, not for an approximate one.
"""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "integers")
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
        return x * np.float32(10) ** rng.uniform(-3, 3, shape).astype(np.float32)
    if distribution == "outliers":
        return np.where(rng.random(shape) < 0.01, x * np.float32(1000), x)
    if distribution == "sparse":
        return np.where(rng.random(shape) < 0.95, np.float32(0), x)
    return x


def inputs(dims, distribution, rng):
    x = draw(rng, (dims["n"],), distribution)
    y = draw(rng, (dims["n"],), "normal" if distribution == "sparse" else distribution)
    return {"x": x, "y": y + np.copysign(np.float32(0.25), y)}


def reference(inputs, scalars):
    z = inputs["x"] / inputs["y"]
    return {"z": (z, np.abs(z))}


def divided(inputs, scalars):
    return {"z": inputs["x"] / inputs["y"]}


def by_reciprocal(inputs, scalars):
    return {"z": inputs["x"] * (np.float32(1) / inputs["y"])}


def approximate_reciprocal(y):
    """Return 1 / y to 12 bits, as a processor estimates it."""
    fraction, exponent = np.frexp(np.float32(1) / y)
    return np.ldexp(np.round(fraction * np.float32(4096)) / np.float32(4096), exponent)


def refined_reciprocal(inputs, scalars):
    y = inputs["y"]
    guess = approximate_reciprocal(y)
    return {"z": inputs["x"] * (guess + guess * (np.float32(1) - y * guess))}


def rounded_once(inputs, scalars):
    quotient = inputs["x"].astype(np.float64) / inputs["y"].astype(np.float64)
    return {"z": quotient.astype(np.float32)}


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


def unrefined_reciprocal(inputs, scalars):
    return {"z": inputs["x"] * approximate_reciprocal(inputs["y"])}


def reciprocal_only(inputs, scalars):
    return {"z": np.float32(1) / inputs["y"]}


def multiplied(inputs, scalars):
    return {"z": inputs["x"] * inputs["y"]}


def unfinished_tail(inputs, scalars):
    z = divided(inputs, scalars)["z"].copy()
    z[-8:] = 0
    return {"z": z}


def neighbour_of_y(inputs, scalars):
    return divided({**inputs, "y": np.roll(inputs["y"], 1)}, scalars)


VARIANTS = {
    "divided": divided,
    "by_reciprocal": by_reciprocal,
    "refined_reciprocal": refined_reciprocal,
    "rounded_once": rounded_once,
    "blocked": blocked(divided),
}

MUTANTS = {
    "unrefined_reciprocal": unrefined_reciprocal,
    "reciprocal_only": reciprocal_only,
    "multiplied": multiplied,
    "unfinished_tail": unfinished_tail,
    "neighbour_of_y": neighbour_of_y,
}
