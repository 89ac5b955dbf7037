"""Matrix transpose: inputs, the exact truth, right ways to it and wrong ones."""

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "integers")
EXACT = ("uniform", "normal", "positive", "row_scaled", "outliers", "sparse", "integers")
TILE = 8


def draw(rng, shape, distribution):
    """Return one input as float32; `shape[-1]` is the axis along which a kernel walks."""
    x = rng.standard_normal(shape, np.float32)
    if distribution == "uniform":
        return rng.random(shape, np.float32) * np.float32(2) - np.float32(1)
    if distribution == "integers":
        return rng.integers(-1000, 1001, shape).astype(np.float32)
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
    return {"x": draw(rng, (dims["rows"], dims["cols"]), distribution)}


def reference(inputs, scalars):
    y = inputs["x"].T
    return {"y": (y, np.abs(y))}


def by_tiles(x, place, turn):
    """Return y made of tiles of x: `place` gives the tile's row and column in y, `turn` its contents."""
    y = np.zeros(x.T.shape, np.float32)
    for r in range(0, x.shape[0], TILE):
        for c in range(0, x.shape[1], TILE):
            tile = turn(x[r : r + TILE, c : c + TILE])
            row, column = place(r, c)
            target = y[row : row + tile.shape[0], column : column + tile.shape[1]]
            target[...] = tile[: target.shape[0], : target.shape[1]]
    return y


def turned(tile):
    return tile.T


def untouched(tile):
    return tile


def swapped(row, column):
    return column, row


def view(inputs, scalars):
    return {"y": inputs["x"].T.copy()}


def element_by_element(inputs, scalars):
    x = inputs["x"]
    rows, cols = x.shape
    places = np.arange(x.size).reshape(rows, cols)
    y = np.empty(x.size, np.float32)
    y[(places % cols) * rows + places // cols] = x
    return {"y": y.reshape(cols, rows)}


def tiled(inputs, scalars):
    return {"y": by_tiles(inputs["x"], swapped, turned)}


def columns_backwards(inputs, scalars):
    x = inputs["x"]
    return {"y": np.stack([x[:, c] for c in reversed(range(x.shape[1]))])[::-1].copy()}


def wrong_stride(inputs, scalars):
    """Rows of x taken to be one element shorter than they are."""
    x = inputs["x"]
    rows, cols = x.shape
    places = np.arange(rows) * (cols - 1) + np.arange(cols)[:, None]
    return {"y": x.ravel()[places]}


def untransposed_tiles(inputs, scalars):
    return {"y": by_tiles(inputs["x"], swapped, untouched)}


def unmoved_tiles(inputs, scalars):
    return {"y": by_tiles(inputs["x"], lambda row, column: (row, column), turned)}


def unfinished_edges(inputs, scalars):
    y = inputs["x"].T.copy()
    y[-3:] = 0
    y[:, -3:] = 0
    return {"y": y}


def reversed_rows(inputs, scalars):
    return {"y": inputs["x"].T[::-1].copy()}


VARIANTS = {
    "view": view,
    "element_by_element": element_by_element,
    "tiled": tiled,
    "columns_backwards": columns_backwards,
}

MUTANTS = {
    "wrong_stride": wrong_stride,
    "untransposed_tiles": untransposed_tiles,
    "unmoved_tiles": unmoved_tiles,
    "unfinished_edges": unfinished_edges,
    "reversed_rows": reversed_rows,
}
