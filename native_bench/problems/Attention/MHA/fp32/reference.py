"""Attention with several heads: inputs, and the float64 truth with its condition.

A score's error is relative to the sum of its absolute products, and exp makes it a relative error of the weight;
an error in score - max counts |score - max| times. Both move the weights of all keys against each other, so the
terms of a value carry its own weight's condition and the mean one of its row.
"""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "cancelling")
EXACT = ()


def draw(rng, shape, distribution, outlier, decades):
    """Return one input as float32; outliers are so many times larger, rows scaled by up to so many decades."""
    x = rng.standard_normal(shape, np.float32)
    if distribution == "uniform":
        return rng.random(shape, np.float32) * np.float32(2) - np.float32(1)
    if distribution == "positive":
        return np.abs(x)
    if distribution == "row_scaled":
        return x * np.float32(10) ** rng.uniform(-decades, decades, (*shape[:-1], 1)).astype(np.float32)
    if distribution == "outliers":
        return np.where(rng.random(shape) < 0.01, x * np.float32(outlier), x)
    if distribution == "sparse":
        return np.where(rng.random(shape) < 0.95, np.float32(0), x)
    return x


def inputs(dims, distribution, rng):
    shape = (dims["batch"], dims["heads"], dims["length"], dims["dim"])
    q = draw(rng, shape, distribution, 30, 2.5)
    k = draw(rng, shape, "normal" if distribution == "row_scaled" else distribution, 30, 0)
    v = draw(rng, shape, distribution, 1000, 3)
    if distribution == "cancelling":
        # Two keys each with the same weight and nearly opposite values.
        k[:, :, 1::2] = k[:, :, : k.shape[2] // 2 * 2 : 2]
        v[:, :, 1::2] = -v[:, :, : v.shape[2] // 2 * 2 : 2] * np.float32(1.0001)
    return {"q": q, "k": k, "v": v}


def reference(inputs, scalars):
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    weights, below = weights_of(masked(scores_of(q, k), scalars))
    condition = scores_of(np.abs(q), np.abs(k))
    mean_condition = (weights * condition).sum(axis=-1, keepdims=True)
    carried = weights * (1 + np.abs(np.where(weights > 0, below, 0)) + condition + mean_condition)
    return {"y": (weights @ v, carried @ np.abs(v))}


def scores_of(q, k):
    return q @ k.swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5)


def masked(scores, scalars, hidden=-np.inf, ahead=0):
    """Return the scores, hidden ones replaced; a query sees keys up to `ahead` places after its own."""
    if not scalars["causal"]:
        return scores
    length = scores.shape[-1]
    is_seen = np.arange(length) <= np.arange(length)[:, None] + ahead
    return np.where(is_seen, scores, scores.dtype.type(hidden))


def weights_of(scores):
    """Return the softmax of each row and how far each score lies below its row's largest."""
    below = scores - scores.max(axis=-1, keepdims=True)
    powers = np.exp(below)
    return powers / powers.sum(axis=-1, keepdims=True), below


def attention(q, k, v, scalars):
    return weights_of(masked(scores_of(q, k), scalars))[0] @ v


def three_steps(inputs, scalars):
    return {"y": attention(inputs["q"], inputs["k"], inputs["v"], scalars)}


def divided_last(inputs, scalars):
    """Scale the queries first and divide by the sum of the powers last; the powers are of two."""
    q = inputs["q"] * np.float32(inputs["q"].shape[-1] ** -0.5 * np.log2(np.e))
    scores = masked(q @ inputs["k"].swapaxes(-1, -2), scalars)
    powers = np.exp2(scores - scores.max(axis=-1, keepdims=True))
    return {"y": powers @ inputs["v"] / powers.sum(axis=-1, keepdims=True)}


def sequential(inputs, scalars):
    """Add every sum element by element, the keys from the last to the first."""
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    scores = np.zeros((*q.shape[:-1], q.shape[-2]), np.float32)
    for p in range(q.shape[-1]):
        scores += q[..., p : p + 1] * k[..., p][..., None, :]
    scores = masked(scores * np.float32(q.shape[-1] ** -0.5), scalars)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    y = np.zeros(v.shape, np.float32)
    total = np.zeros((*v.shape[:-1], 1), np.float32)
    for j in reversed(range(v.shape[-2])):
        y += powers[..., j : j + 1] * v[..., j : j + 1, :]
        total += powers[..., j : j + 1]
    return {"y": y / total}


def online(inputs, scalars):
    """Read the keys in blocks; a larger maximum scales what was summed so far."""
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    scores = masked(scores_of(q, k), scalars)
    largest = np.full((*v.shape[:-1], 1), -np.inf, np.float32)
    total = np.zeros((*v.shape[:-1], 1), np.float32)
    y = np.zeros(v.shape, np.float32)
    for j in range(0, v.shape[-2], 16):
        block = scores[..., j : j + 16]
        now = np.maximum(largest, block.max(axis=-1, keepdims=True))
        powers = np.exp(block - now)
        factor = np.exp(largest - now)
        y = y * factor + powers @ v[..., j : j + 16, :]
        total = total * factor + powers.sum(axis=-1, keepdims=True)
        largest = now
    return {"y": y / total}


def mask_ignored(inputs, scalars):
    return three_steps(inputs, {**scalars, "causal": 0})


def mask_off_by_one(inputs, scalars):
    """Let each query see the key after its own place as well."""
    scores = masked(scores_of(inputs["q"], inputs["k"]), scalars, ahead=1)
    return {"y": weights_of(scores)[0] @ inputs["v"]}


def masked_as_zero(inputs, scalars):
    """Give hidden keys the score 0 instead of none."""
    scores = masked(scores_of(inputs["q"], inputs["k"]), scalars, hidden=0)
    return {"y": weights_of(scores)[0] @ inputs["v"]}


def no_max_subtraction(inputs, scalars):
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(masked(scores_of(inputs["q"], inputs["k"]), scalars))
        return {"y": powers @ inputs["v"] / powers.sum(axis=-1, keepdims=True)}


def unscaled(inputs, scalars):
    q = inputs["q"] * np.float32(inputs["q"].shape[-1] ** 0.5)
    return {"y": attention(q, inputs["k"], inputs["v"], scalars)}


def unnormalised(inputs, scalars):
    scores = masked(scores_of(inputs["q"], inputs["k"]), scalars)
    return {"y": np.exp(scores - scores.max(axis=-1, keepdims=True)) @ inputs["v"]}


def one_head_for_all(inputs, scalars):
    """Read the keys and values of the first head for every head."""
    k, v = (np.broadcast_to(inputs[name][:, :1], inputs[name].shape) for name in ("k", "v"))
    return {"y": attention(inputs["q"], k, v, scalars)}


def heads_interleaved(inputs, scalars):
    """Take the inputs as stored with the heads inside of the tokens."""
    batch, heads, length, dim = inputs["q"].shape
    q, k, v = (inputs[name].reshape(batch, length, heads, dim).swapaxes(1, 2) for name in ("q", "k", "v"))
    return {"y": np.ascontiguousarray(attention(q, k, v, scalars).swapaxes(1, 2)).reshape(inputs["q"].shape)}


def last_key_left_out(inputs, scalars):
    k, v = inputs["k"][:, :, :-1], inputs["v"][:, :, :-1]
    scores = scores_of(inputs["q"], k)
    if scalars["causal"]:
        scores = np.where(np.arange(k.shape[2]) <= np.arange(k.shape[2] + 1)[:, None], scores, np.float32(-np.inf))
    return {"y": weights_of(scores)[0] @ v}


def rough_exponential(inputs, scalars):
    """Take the exponential from the bits of one linear function: a few per cent off."""
    scores = masked(scores_of(inputs["q"], inputs["k"]), scalars)
    scaled = (scores - scores.max(axis=-1, keepdims=True)) * np.float32(2**23 / np.log(2))
    bits = np.maximum(scaled, np.float32(-126 * 2**23)).astype(np.int32) + np.int32(127 * 2**23 - 366393)
    powers = bits.view(np.float32)
    return {"y": powers @ inputs["v"] / powers.sum(axis=-1, keepdims=True)}


def short_significands(inputs, scalars):
    """Round the inputs to eleven significant bits, as matrix units do that take fp32 and compute in less."""
    return three_steps({name: shortened(values) for name, values in inputs.items()}, scalars)


def shortened(x):
    return ((x.view(np.uint32) + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


VARIANTS = {"three_steps": three_steps, "divided_last": divided_last, "sequential": sequential, "online": online}
MUTANTS = {
    "mask_ignored": mask_ignored,
    "mask_off_by_one": mask_off_by_one,
    "masked_as_zero": masked_as_zero,
    "no_max_subtraction": no_max_subtraction,
    "unscaled": unscaled,
    "unnormalised": unnormalised,
    "one_head_for_all": one_head_for_all,
    "heads_interleaved": heads_interleaved,
    "last_key_left_out": last_key_left_out,
    "rough_exponential": rough_exponential,
    "short_significands": short_significands,
}
