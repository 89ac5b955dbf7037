"""Matrix product: inputs, and the float64 truth with the sum of absolute terms behind each element."""

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
    a = draw(rng, (dims["m"], dims["k"]), distribution)
    b = draw(rng, (dims["k"], dims["n"]), "normal" if distribution == "cancelling" else distribution)
    if distribution == "cancelling":
        half = dims["k"] // 2
        b[half : 2 * half] = b[:half]
    return {"a": a, "b": b}


def reference(inputs, scalars):
    a, b = inputs["a"], inputs["b"]
    return {"c": (a @ b, np.abs(a) @ np.abs(b))}
