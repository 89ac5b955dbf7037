"""The cast: one problem, one kernel of each harness, and an archive made by hand from any members."""

import gzip
import io
import tarfile
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.strict_yaml import dump_yaml

NATIVE_ID = KernelId.parse("x86_64/Vector/saxpy/fp32/unrolled")
CUDA_ID = KernelId.parse("sm_90/Vector/saxpy/fp32/blocks")
PROBLEM_ID = ProblemId.parse("Vector/saxpy/fp32")


@pytest.fixture
def problem_document() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "version": 1,
        "title": "Scaled vector addition",
        "description": "z = a*x + y",
        "parameters": [{"name": "n", "label": "Vector length", "min": 1, "max": 268435456, "default": 1048576}],
        "tensors": [
            {"name": "x", "role": "in", "dtype": "fp32", "shape": ["n"]},
            {"name": "y", "role": "in", "dtype": "fp32", "shape": ["n"]},
            {"name": "z", "role": "out", "dtype": "fp32", "shape": ["n"]},
        ],
        "scalars": [
            {"name": "a", "dtype": "fp32", "value": 2.5},
            {"name": "n", "dtype": "i64", "value": "n"},
        ],
        "cases": [
            {"id": "n1m", "dims": {"n": 1048576}, "distribution": "uniform", "weight": 1},
            {"id": "n4k", "dims": {"n": 4096}},
        ],
        "dry_run": {"dims": {"n": 1000}},
        "hidden": {"count": 6, "ranges": {"n": [1, 100000]}},
        "tolerance": {"kind": "bound", "terms": 2, "accumulate": "fp32", "c": 4},
        "flops": "2*n",
        "bytes_min": "12*n",
        "unit": "fp32_fma",
        "mode": "hot",
        "threads": 1,
        "timeout_s": 10,
        "memory_bytes": "12*n",
        "must_fail": ["zeros", "copy_input", "missing_last"],
    }


@pytest.fixture
def native_document() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "kernel_id": str(NATIVE_ID),
        "title": "Unrolled saxpy",
        "summary": "",
        "language": "cpp",
        "harness": "native",
        "entry": {"source": "src/saxpy.cpp", "symbol": "saxpy"},
        "build": {"sources": ["src/saxpy.cpp"], "include_dirs": ["src"], "defines": {"UNROLL": 4}},
        "parent": {"kernel_id": "x86_64/Vector/saxpy/fp32/reference_impl", "commit": "a" * 40},
        "agent": {"name": "tuner", "model": "m1"},
        "authors": ["entrant-a"],
        "license": "MIT",
        "tags": ["simd"],
        "created": "2026-01-31",
    }


@pytest.fixture
def cuda_document(native_document: dict[str, Any]) -> dict[str, Any]:
    document = {**native_document, "kernel_id": str(CUDA_ID), "language": "cuda", "harness": "rawkernel"}
    del document["build"]
    return document | {
        "entry": {"source": "src/saxpy.cu"},
        "scratch": [{"name": "tmp", "dtype": "fp32", "shape": ["n // 4"]}],
        "launches": [
            {
                "kernel": "saxpy<256>",
                "grid": ["ceil_div(n, 256)", 1, 1],
                "block": [256, 1, 1],
                "shared_bytes": 0,
                "args": ["x", "y", "z", "a", "n", {"i32": "n // 4"}, {"fp32": 0.5}, "tmp"],
            }
        ],
    }


NATIVE_SOURCE = b'extern "C" void saxpy(const float* x, const float* y, float* z, float a, long n);\n'
CUDA_SOURCE = b"template <int B> __global__ void saxpy(const float* x);\n"


def native_files(document: Mapping[str, Any]) -> dict[str, bytes]:
    return {".kernel_package/desc.yaml": dump_yaml(document), "src/saxpy.cpp": NATIVE_SOURCE}


def cuda_files(document: Mapping[str, Any]) -> dict[str, bytes]:
    return {".kernel_package/desc.yaml": dump_yaml(document), "src/saxpy.cu": CUDA_SOURCE}


def member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    """One tar member as bytes, however hostile its name or type."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    info.size = len(content)
    padding = b"\0" * (-len(content) % 512)
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape") + content + padding


def archive(*members: bytes) -> bytes:
    return gzip.compress(b"".join(members) + b"\0" * 1024)


def standard_archive(files: Mapping[str, bytes], tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    """What a person's tar would send: folders, owners and times included."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tar_format) as stream:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mtime, info.uname = len(content), 1_700_000_000, "someone"
            stream.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def rejection(act: Callable[[], object]) -> Rejected:
    """Return the Rejected that `act` raises."""
    with pytest.raises(Rejected) as caught:
        act()
    return caught.value
