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


def product(inputs, scalars):
    return {"c": inputs["a"] @ inputs["b"]}


def sequential(inputs, scalars):
    """Add the products one by one."""
    a, b = inputs["a"], inputs["b"]
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for p in range(a.shape[1]):
        c += a[:, p : p + 1] * b[p]
    return {"c": c}


def reversed_sum(inputs, scalars):
    return {"c": np.ascontiguousarray(inputs["a"][:, ::-1]) @ np.ascontiguousarray(inputs["b"][::-1])}


def blocked(inputs, scalars):
    """Add up the products of slices of k."""
    a, b = inputs["a"], inputs["b"]
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for p in range(0, a.shape[1], 32):
        c += a[:, p : p + 32] @ b[p : p + 32]
    return {"c": c}


def pairwise(inputs, scalars):
    """Halve k until few products are left."""

    def part(a, b):
        k = a.shape[1]
        if k <= 8:
            return a @ b
        return part(a[:, : k // 2], b[: k // 2]) + part(a[:, k // 2 :], b[k // 2 :])

    return {"c": part(inputs["a"], inputs["b"])}


def last_step_left_out(inputs, scalars):
    return {"c": inputs["a"][:, :-1] @ inputs["b"][:-1]}


def b_read_by_columns(inputs, scalars):
    """Take b as stored column by column."""
    b = inputs["b"]
    return {"c": inputs["a"] @ b.reshape(b.shape[::-1]).T}


def magnitudes(inputs, scalars):
    return {"c": np.abs(inputs["a"]) @ np.abs(inputs["b"])}


def short_significands(inputs, scalars):
    """Round the inputs to eleven significant bits, as matrix units do that take fp32 and compute in less."""
    return {"c": shortened(inputs["a"]) @ shortened(inputs["b"])}


def shortened(x):
    return ((x.view(np.uint32) + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


def half_precision_sums(inputs, scalars):
    """Keep the running sum in fp16."""
    a, b = inputs["a"], inputs["b"]
    c = np.zeros((a.shape[0], b.shape[1]), np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        for p in range(a.shape[1]):
            c += (a[:, p : p + 1] * b[p]).astype(np.float16)
    return {"c": c.astype(np.float32)}


VARIANTS = {
    "product": product,
    "sequential": sequential,
    "reversed": reversed_sum,
    "blocked": blocked,
    "pairwise": pairwise,
}
MUTANTS = {
    "last_step_left_out": last_step_left_out,
    "b_read_by_columns": b_read_by_columns,
    "magnitudes": magnitudes,
    "short_significands": short_significands,
    "half_precision_sums": half_precision_sums,
}
