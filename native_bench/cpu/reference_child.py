"""Runs a problem's reference.py in a sandboxed process that holds no candidate.

Started by path, alone: it imports nothing of ours. argv: DESCRIPTOR of the memory to fill, FOLDER of numpy.
stdin: {"draws": [{"dims", "distribution", "seed", "scalars", "inputs": [[name, dtype, shape, offset]],
"outputs": [[name, dtype, shape, reference offset, terms offset]]}]}.
stdout: a JSON line, {"ok": true} or {"error": …}.
"""

import json
import mmap
import os
import runpy
import sys
import traceback
from typing import Any

NUMPY_TYPES = {
    "fp64": "f8", "fp32": "f4", "fp16": "f2", "bf16": "u2", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
}  # fmt: skip


def store(np: Any, values: Any, dtype: str) -> tuple[Any, Any]:
    """Return the stored form of an input and what it then means to the reference."""
    if dtype == "bf16":
        bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return rounded, (rounded.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    stored = np.ascontiguousarray(values, NUMPY_TYPES[dtype])
    return stored, stored.astype(np.float64) if dtype.startswith("fp") else stored


def check_shape(name: str, array: Any, shape: list[int]) -> None:
    if tuple(array.shape) != tuple(shape):
        raise ValueError(f"{name} has the shape {list(array.shape)}, problem.yaml says {shape}")


def draw_one(np: Any, module: dict[str, Any], draw: dict[str, Any], memory: mmap.mmap) -> None:
    """Fill one set: the inputs as stored, the reference and its sums of terms as float64."""
    coin = np.random.Generator(np.random.PCG64(draw["seed"]))
    inputs = module["inputs"](draw["dims"], draw["distribution"], coin)
    meant = {}
    for name, dtype, shape, offset in draw["inputs"]:
        stored, meant[name] = store(np, inputs[name], dtype)
        check_shape(name, stored, shape)
        np.frombuffer(memory, stored.dtype, stored.size, offset)[:] = stored.ravel()
    results = module["reference"](meant, draw["scalars"])
    for name, dtype, shape, reference_at, terms_at in draw["outputs"]:
        reference, terms = (np.asarray(part) for part in results[name])
        check_shape(name, reference, shape)
        wide = {"i64": "i8", "u64": "u8"}.get(dtype, "f8")
        if wide == "f8" and not np.isfinite(reference).all():
            raise ValueError(f"{name} of the reference is not finite ({draw['distribution']})")
        np.frombuffer(memory, wide, reference.size, reference_at)[:] = reference.astype(wide).ravel()
        np.frombuffer(memory, "f8", reference.size, terms_at)[:] = np.broadcast_to(terms, reference.shape).ravel()


def main() -> dict[str, Any]:
    sys.path.insert(0, sys.argv[2])
    import numpy as np

    request = json.load(sys.stdin)
    descriptor = int(sys.argv[1])
    memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
    module = runpy.run_path(request["reference"])
    for draw in request["draws"]:
        draw_one(np, module, draw, memory)
    return {"ok": True}


if __name__ == "__main__":
    try:
        ANSWER = main()
    except Exception as error:
        ANSWER = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()[-2000:]}
    print(json.dumps(ANSWER), flush=True)
