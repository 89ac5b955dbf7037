"""Matrix times vector: inputs, and the float64 truth with the sum of absolute terms behind each element."""

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
    a = draw(rng, (dims["m"], dims["n"]), distribution)
    x = draw(rng, (dims["n"],), "normal" if distribution in ("cancelling", "row_scaled") else distribution)
    if distribution == "cancelling":
        half = dims["n"] // 2
        x[half : 2 * half] = x[:half]
    return {"a": a, "x": x}


def reference(inputs, scalars):
    a, x = inputs["a"], inputs["x"]
    return {"y": (a @ x, np.abs(a) @ np.abs(x))}


def product(inputs, scalars):
    return {"y": inputs["a"] @ inputs["x"]}


def sequential(inputs, scalars):
    """Add the products one by one."""
    return {"y": (inputs["a"] * inputs["x"]).cumsum(axis=1, dtype=np.float32)[:, -1]}


def reversed_sum(inputs, scalars):
    backwards = (inputs["a"] * inputs["x"])[:, ::-1]
    return {"y": backwards.cumsum(axis=1, dtype=np.float32)[:, -1]}


def blocked(inputs, scalars):
    """Add up the products of slices of a row."""
    a, x = inputs["a"], inputs["x"]
    y = np.zeros(a.shape[0], np.float32)
    for j in range(0, a.shape[1], 256):
        y += a[:, j : j + 256] @ x[j : j + 256]
    return {"y": y}


def pairwise(inputs, scalars):
    return {"y": (inputs["a"] * inputs["x"]).sum(axis=1, dtype=np.float32)}


def last_column_left_out(inputs, scalars):
    return {"y": inputs["a"][:, :-1] @ inputs["x"][:-1]}


def read_by_columns(inputs, scalars):
    """Take a as stored column by column."""
    a = inputs["a"]
    return {"y": a.reshape(a.shape[::-1]).T @ inputs["x"]}


def row_stride_too_short(inputs, scalars):
    """Begin each row one element before its place, once more for every row above."""
    a = inputs["a"]
    m, n = a.shape
    starts = np.arange(m)[:, None] * (n - 1)
    return {"y": a.reshape(-1)[starts + np.arange(n)] @ inputs["x"]}


def magnitudes(inputs, scalars):
    return {"y": np.abs(inputs["a"]) @ np.abs(inputs["x"])}


def short_significands(inputs, scalars):
    """Round the inputs to eleven significant bits, as matrix units do that take fp32 and compute in less."""
    return {"y": shortened(inputs["a"]) @ shortened(inputs["x"])}


def shortened(x):
    return ((x.view(np.uint32) + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


def half_precision_sums(inputs, scalars):
    """Keep the running sum in fp16."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (inputs["a"] * inputs["x"]).cumsum(axis=1, dtype=np.float16)
    return {"y": sums[:, -1].astype(np.float32)}


VARIANTS = {
    "product": product,
    "sequential": sequential,
    "reversed": reversed_sum,
    "blocked": blocked,
    "pairwise": pairwise,
}
MUTANTS = {
    "last_column_left_out": last_column_left_out,
    "read_by_columns": read_by_columns,
    "row_stride_too_short": row_stride_too_short,
    "magnitudes": magnitudes,
    "short_significands": short_significands,
    "half_precision_sums": half_precision_sums,
}
