"""Runs a problem's reference.py in a sandboxed process that holds no candidate.

Started from its text, alone: it imports nothing of ours. argv: DESCRIPTOR of the memory to fill, DESCRIPTOR of
the request, FOLDER of numpy. The request is a JSON line, [{"dims", "distribution", "seed", "scalars",
"inputs": [[name, dtype, shape, offset]], "outputs": [[name, dtype, shape, reference offset, terms offset]],
"tries": [[group, name, [the offset of each output]]]}], and behind it the text of reference.py. A try is one more
computation on the draw's inputs: one of VARIANTS or MUTANTS, or ["lower_precision", "", …].
stdout: a JSON line, {"ok": true} or {"error", "kind", "draw", "trace"}, the number of the draw that failed.
"""

import json
import mmap
import os
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
    given, meant = {}, {}
    for name, dtype, shape, offset in draw["inputs"]:
        stored, meant[name] = store(np, inputs[name], dtype)
        check_shape(name, stored, shape)
        given[name] = meant[name].astype(np.float32) if dtype == "bf16" else stored
        np.frombuffer(memory, stored.dtype, stored.size, offset)[:] = stored.ravel()
    results = module["reference"](meant, draw["scalars"])
    for name, dtype, shape, reference_at, terms_at in draw["outputs"]:
        reference, terms = (np.asarray(part) for part in results[name])
        check_shape(name, reference, shape)
        wide = {"i64": "i8", "u64": "u8"}.get(dtype, "f8")
        if wide == "f8" and not np.isfinite(reference).all():
            raise ValueError(f"{name} of the reference is not finite ({draw['distribution']})")
        if not (np.isfinite(terms).all() and (terms >= 0).all()):
            raise ValueError(f"the terms of {name} are negative or not finite ({draw['distribution']})")
        np.frombuffer(memory, wide, reference.size, reference_at)[:] = reference.astype(wide).ravel()
        np.frombuffer(memory, "f8", reference.size, terms_at)[:] = np.broadcast_to(terms, reference.shape).ravel()
    for group, name, offsets in draw["tries"]:
        try:
            results = try_one(np, module, draw, given, (group, name))
            store_try(np, draw["outputs"], results, offsets, memory)
        except Exception as error:
            what = f"{group} {name} ({draw['distribution']})"
            raise RuntimeError(f"{what}: {type(error).__name__}: {error}") from error


def try_one(
    np: Any, module: dict[str, Any], draw: dict[str, Any], given: dict[str, Any], which: tuple[str, str]
) -> dict[str, Any]:
    """Return what a variant or mutant, or the reference in the next lower precision, makes of the inputs."""
    group, name = which
    inputs = {tensor: values.copy() for tensor, values in given.items()}
    if group != "lower_precision":
        return module[group][name](inputs, draw["scalars"])  # type: ignore[no-any-return]
    coarse = {tensor: coarser(np, inputs[tensor], dtype) for tensor, dtype, *_ in draw["inputs"]}
    results = module["reference"](coarse, draw["scalars"])
    return {tensor: coarser(np, results[tensor][0], dtype) for tensor, dtype, *_ in draw["outputs"]}


def coarser(np: Any, values: Any, dtype: str) -> Any:
    """Round to the precision below: fp64 to fp32, fp32 to fp16, fp16 and bf16 to four significant bits."""
    if not dtype.startswith(("fp", "bf")):
        return values
    if dtype in ("fp64", "fp32"):
        return values.astype(np.float32 if dtype == "fp64" else np.float16).astype(np.float64)
    significand, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(significand * 16) / 16, exponent)


def store_try(np: Any, outputs: list[Any], results: dict[str, Any], offsets: list[int], memory: mmap.mmap) -> None:
    for (name, dtype, shape, *_), offset in zip(outputs, offsets, strict=True):
        stored, _ = store(np, results[name], dtype)
        check_shape(name, stored, shape)
        np.frombuffer(memory, stored.dtype, stored.size, offset)[:] = stored.ravel()


def failure(error: Exception, draw: int | None) -> dict[str, Any]:
    """Return the answer for an error, to be called where it is handled."""
    kind = type(error).__name__
    return {"error": f"{kind}: {error}", "kind": kind, "draw": draw, "trace": traceback.format_exc()[-2000:]}


def draw_all(np: Any, source: bytes, draws: list[dict[str, Any]], memory: mmap.mmap) -> dict[str, Any]:
    """Fill every set in its order; return the answer."""
    module: dict[str, Any] = {"__name__": "reference"}
    number = None
    try:
        exec(compile(source, "reference.py", "exec"), module)  # noqa: S102
        for number in range(len(draws)):
            draw_one(np, module, draws[number], memory)
    except Exception as error:
        return failure(error, number)
    return {"ok": True}


def main() -> dict[str, Any]:
    sys.path.insert(0, sys.argv[3])
    import numpy as np

    descriptor = int(sys.argv[1])
    memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
    with os.fdopen(int(sys.argv[2]), "rb") as request:
        draws, source = json.loads(request.readline()), request.read()
    return draw_all(np, source, draws, memory)


if __name__ == "__main__":
    print(json.dumps(main()), flush=True)
