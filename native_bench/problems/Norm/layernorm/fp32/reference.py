"""Layer normalisation: inputs, the float64 truth with its condition, honest ways to it and wrong ones.

The mean is off by about sqrt(cols) roundings of the mean |x|, the root of the variance by as many of a deviation;
both count divided by the standard deviation. The terms carry them, so the bound takes no length of its own. The
variance in one pass, whose error grows with the square of the mean, is outside of that where means are large.
"""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "cancelling")
EXACT = ()
BLOCK = 64


def draw(rng, shape, distribution):
    """Return one input as float32; `shape[-1]` is the axis along which a kernel walks."""
    x = rng.standard_normal(shape, np.float32)
    if distribution == "uniform":
        return rng.random(shape, np.float32) * np.float32(2) - np.float32(1)
    if distribution == "positive":
        return np.abs(x)
    if distribution == "row_scaled":
        return x * np.float32(10) ** rng.uniform(-4, 2, (*shape[:-1], 1)).astype(np.float32)
    if distribution == "outliers":
        return np.where(rng.random(shape) < 0.01, x * np.float32(1000), x)
    if distribution == "sparse":
        return np.where(rng.random((*shape[:-1], 1)) < 0.5, np.float32(0), x)
    if distribution == "cancelling":
        offsets = rng.uniform(300, 1000, (*shape[:-1], 1)) * rng.choice((-1, 1), (*shape[:-1], 1))
        return x + offsets.astype(np.float32)
    return x


def inputs(dims, distribution, rng):
    return {
        "x": draw(rng, (dims["rows"], dims["cols"]), distribution),
        "gamma": draw(rng, (dims["cols"],), "uniform") * np.float32(2),
        "beta": draw(rng, (dims["cols"],), "normal"),
    }


def reference(inputs, scalars):
    x, gamma, beta = inputs["x"], inputs["gamma"], inputs["beta"]
    deviation = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt((deviation**2).mean(axis=1, keepdims=True) + scalars["eps"])
    condition = np.sqrt(x.shape[1]) * (np.abs(deviation) + np.abs(x).mean(axis=1, keepdims=True))
    return {"y": (deviation / spread * gamma + beta, condition / spread * np.abs(gamma) + np.abs(beta))}


def in_order(terms):
    """Return each row's mean, summed from left to right and rounded to fp32 at each step."""
    return np.cumsum(terms, axis=1, dtype=np.float32)[:, -1:] / np.float32(terms.shape[1])


def pairwise(terms):
    return terms.mean(axis=1, keepdims=True, dtype=np.float32)


def variance(x, mean):
    return in_order((x - mean) * (x - mean))


def applied(inputs, scalars, mean, squares):
    """Return the output for these means and variances."""
    factor = np.float32(1) / np.sqrt(squares + np.float32(scalars["eps"]))
    return {"y": (inputs["x"] - mean) * factor * inputs["gamma"] + inputs["beta"]}


def two_passes(inputs, scalars):
    mean = in_order(inputs["x"])
    return applied(inputs, scalars, mean, variance(inputs["x"], mean))


def backwards(inputs, scalars):
    mean = in_order(inputs["x"][:, ::-1])
    return applied(inputs, scalars, mean, in_order(((inputs["x"] - mean) ** 2)[:, ::-1]))


def pairwise_sums(inputs, scalars):
    mean = pairwise(inputs["x"])
    return applied(inputs, scalars, mean, pairwise((inputs["x"] - mean) ** 2))


def welford(inputs, scalars):
    x = inputs["x"]
    mean = np.zeros((x.shape[0], 1), np.float32)
    squares = np.zeros_like(mean)
    for c in range(x.shape[1]):
        before = x[:, c : c + 1] - mean
        mean = mean + before / np.float32(c + 1)
        squares = squares + before * (x[:, c : c + 1] - mean)
    return applied(inputs, scalars, mean, squares / np.float32(x.shape[1]))


def merged_blocks(inputs, scalars):
    """The means and squares of blocks, merged from left to right."""
    mean, squares, count = np.float32(0), np.float32(0), 0
    for begin in range(0, inputs["x"].shape[1], BLOCK):
        block = inputs["x"][:, begin : begin + BLOCK]
        own = in_order(block)
        apart, share = own - mean, np.float32(block.shape[1] / (count + block.shape[1]))
        squares = squares + variance(block, own) * block.shape[1] + apart * apart * (np.float32(count) * share)
        mean = mean + apart * share
        count += block.shape[1]
    return applied(inputs, scalars, mean, squares / np.float32(count))


def folded_weights(inputs, scalars):
    mean = in_order(inputs["x"])
    root = np.sqrt(variance(inputs["x"], mean) + np.float32(scalars["eps"]))
    scale = inputs["gamma"] / root
    return {"y": inputs["x"] * scale + (inputs["beta"] - mean * scale)}


def unbiased_variance(inputs, scalars):
    cols = inputs["x"].shape[1]
    mean = in_order(inputs["x"])
    return applied(inputs, scalars, mean, variance(inputs["x"], mean) * np.float32(cols / max(1, cols - 1)))


def one_pass_variance(inputs, scalars):
    mean = in_order(inputs["x"])
    squares = in_order(inputs["x"] * inputs["x"]) - mean * mean
    return applied(inputs, scalars, mean, np.maximum(squares, np.float32(0)))


def no_epsilon(inputs, scalars):
    with np.errstate(divide="ignore", invalid="ignore"):
        return two_passes(inputs, {**scalars, "eps": 0.0})


def epsilon_outside_root(inputs, scalars):
    mean = in_order(inputs["x"])
    root = np.sqrt(variance(inputs["x"], mean)) + np.float32(scalars["eps"])
    return {"y": (inputs["x"] - mean) / root * inputs["gamma"] + inputs["beta"]}


def no_mean_subtraction(inputs, scalars):
    return applied(inputs, scalars, np.float32(0), in_order(inputs["x"] * inputs["x"]))


def no_root(inputs, scalars):
    mean = in_order(inputs["x"])
    squares = variance(inputs["x"], mean) + np.float32(scalars["eps"])
    return {"y": (inputs["x"] - mean) / squares * inputs["gamma"] + inputs["beta"]}


def whole_matrix_statistics(inputs, scalars):
    x = inputs["x"]
    return applied(inputs, scalars, x.mean(dtype=np.float32), x.var(dtype=np.float32))


def unweighted(inputs, scalars):
    return two_passes({**inputs, "gamma": np.ones_like(inputs["gamma"])}, scalars)


def unshifted(inputs, scalars):
    return two_passes({**inputs, "beta": np.zeros_like(inputs["beta"])}, scalars)


VARIANTS = {
    "two_passes": two_passes,
    "backwards": backwards,
    "pairwise_sums": pairwise_sums,
    "welford": welford,
    "merged_blocks": merged_blocks,
    "folded_weights": folded_weights,
}

MUTANTS = {
    "unbiased_variance": unbiased_variance,
    "one_pass_variance": one_pass_variance,
    "no_epsilon": no_epsilon,
    "epsilon_outside_root": epsilon_outside_root,
    "no_mean_subtraction": no_mean_subtraction,
    "no_root": no_root,
    "whole_matrix_statistics": whole_matrix_statistics,
    "unweighted": unweighted,
    "unshifted": unshifted,
}
