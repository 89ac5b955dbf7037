"""Convolution in two dimensions: inputs, and the float64 truth with the sum of absolute terms of each element."""

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
    return x


def inputs(dims, distribution, rng):
    x = draw(rng, (dims["n"], dims["c"], dims["h"], dims["w"]), distribution)
    f = draw(rng, (dims["oc"], dims["c"], dims["kh"], dims["kw"]), distribution)
    if distribution == "cancelling":
        half = dims["c"] // 2
        x[:, half : 2 * half] = -x[:, :half] * np.float32(1.0001)
        f[:, half : 2 * half] = f[:, :half]
    return {"x": x, "f": f}


def reference(inputs, scalars):
    x, f = inputs["x"], inputs["f"]
    return {"y": (convolved(x, f, scalars), convolved(np.abs(x), np.abs(f), scalars))}


def padded(x, scalars, mode="constant"):
    sides = ((0, 0), (0, 0), (scalars["pad_h"],) * 2, (scalars["pad_w"],) * 2)
    return np.pad(x, sides, mode)


def patches_of(wide, scalars):
    """Return what lies under the filter at each output element: images, channels, rows, columns, kh, kw."""
    windows = np.lib.stride_tricks.sliding_window_view(wide, (scalars["kh"], scalars["kw"]), axis=(2, 3))
    return windows[:, :, :: scalars["stride_h"], :: scalars["stride_w"]]


def filtered(patches, f):
    """Return the sums of products of each patch with each filter, as one product of matrices."""
    n, c, oh, ow, kh, kw = patches.shape
    columns = patches.transpose(1, 4, 5, 0, 2, 3).reshape(c * kh * kw, n * oh * ow)
    sums = f.reshape(f.shape[0], -1) @ columns
    return np.ascontiguousarray(sums.reshape(-1, n, oh, ow).transpose(1, 0, 2, 3))


def convolved(x, f, scalars):
    return filtered(patches_of(padded(x, scalars), scalars), f)


def product(inputs, scalars):
    return {"y": convolved(inputs["x"], inputs["f"], scalars)}


def sum_of_taps(inputs, scalars, order=1):
    """Add the products one tap of the filter after the other."""
    f = inputs["f"]
    patches = patches_of(padded(inputs["x"], scalars), scalars)
    n, c, oh, ow, kh, kw = patches.shape
    y = np.zeros((n, f.shape[0], oh, ow), np.float32)
    for tap in range(c * kh * kw)[::order]:
        at, i, j = np.unravel_index(tap, (c, kh, kw))
        y += f[:, at, i, j][:, None, None] * patches[:, at, None, :, :, i, j]
    return {"y": y}


def reversed_sum(inputs, scalars):
    return sum_of_taps(inputs, scalars, -1)


def blocked(inputs, scalars):
    """Add up the convolutions of four input channels at a time."""
    x, f = inputs["x"], inputs["f"]
    parts = range(0, x.shape[1], 4)
    return {"y": sum(convolved(x[:, at : at + 4], f[:, at : at + 4], scalars) for at in parts)}


def last_channel_left_out(inputs, scalars):
    f = inputs["f"].copy()
    f[:, -1] = 0
    return {"y": convolved(inputs["x"], f, scalars)}


def filter_flipped(inputs, scalars):
    """Walk the filter backwards, as the convolution of mathematics does."""
    return {"y": convolved(inputs["x"], np.ascontiguousarray(inputs["f"][:, :, ::-1, ::-1]), scalars)}


def filter_axes_swapped(inputs, scalars):
    """Take each filter as stored column by column."""
    oc, c, kh, kw = inputs["f"].shape
    swapped = inputs["f"].reshape(oc, c, kw, kh).transpose(0, 1, 3, 2)
    return {"y": convolved(inputs["x"], np.ascontiguousarray(swapped), scalars)}


def stride_ignored(inputs, scalars):
    oh, ow = convolved(inputs["x"][:1, :1], inputs["f"][:1, :1], scalars).shape[2:]
    dense = convolved(inputs["x"], inputs["f"], {**scalars, "stride_h": 1, "stride_w": 1})
    return {"y": np.ascontiguousarray(dense[:, :, :oh, :ow])}


def edges_repeated(inputs, scalars):
    """Continue the input beyond its edges with what lies there instead of zeros."""
    return {"y": filtered(patches_of(padded(inputs["x"], scalars, "edge"), scalars), inputs["f"])}


def window_shifted(inputs, scalars):
    """Begin each window one column too far left."""
    return {"y": convolved(np.roll(inputs["x"], 1, axis=3), inputs["f"], scalars)}


def channels_last(inputs, scalars):
    """Take the input as stored with its channels innermost."""
    n, c, h, w = inputs["x"].shape
    x = np.ascontiguousarray(inputs["x"].reshape(n, h, w, c).transpose(0, 3, 1, 2))
    return {"y": convolved(x, inputs["f"], scalars)}


def short_significands(inputs, scalars):
    """Round the inputs to eleven significant bits, as matrix units do that take fp32 and compute in less."""
    return {"y": convolved(shortened(inputs["x"]), shortened(inputs["f"]), scalars)}


def shortened(x):
    return ((x.view(np.uint32) + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


VARIANTS = {"product": product, "sum_of_taps": sum_of_taps, "reversed": reversed_sum, "blocked": blocked}
MUTANTS = {
    "last_channel_left_out": last_channel_left_out,
    "filter_flipped": filter_flipped,
    "filter_axes_swapped": filter_axes_swapped,
    "stride_ignored": stride_ignored,
    "edges_repeated": edges_repeated,
    "window_shifted": window_shifted,
    "channels_last": channels_last,
    "short_significands": short_significands,
}
