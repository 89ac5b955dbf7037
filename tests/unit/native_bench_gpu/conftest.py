"""The cast: a sandbox, and a compiler that builds a small CUDA package for real."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from native_bench.cache import ContentCache
from native_bench.gpu.compiler import CudaBuild, compile_cuda
from native_bench.outcome import RunEnded
from native_bench.sandbox.interface import Sandbox
from native_bench.sandbox.opening import open_sandbox
from submissions.kernel_package.description import Description, parse_description

SCALE = """
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
"""
SLOT = 3

Compile = Callable[..., CudaBuild]


def description(kernels: Sequence[str] = ("scale",), build: str = "{}", shared_bytes: int = 0) -> Description:
    """Return what a package with src/kernel.cu says of itself; `build` is YAML."""
    launch = f"grid: [1, 1, 1], block: [256, 1, 1], shared_bytes: {shared_bytes}, args: []"
    launches = "".join(f"  - {{kernel: '{kernel}', {launch}}}\n" for kernel in kernels)
    text = f"""
schema_version: 1
kernel_id: sm_90/Vector/scale/fp32/tried
title: Tried
language: cuda
harness: rawkernel
entry: {{source: src/kernel.cu}}
build: {build}
authors: [tester]
license: MIT
launches:
{launches}"""
    return parse_description(text.encode())


def refusal(act: Callable[[], object]) -> RunEnded:
    with pytest.raises(RunEnded) as caught:
        act()
    return caught.value


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return open_sandbox(slot=SLOT)


@pytest.fixture(scope="session")
def compiled(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Build src/kernel.cu, with more files beside it; what was built before is found again."""
    cache = ContentCache(tmp_path_factory.mktemp("cuda-cache"))

    def run(
        source: str,
        kernels: Sequence[str] = ("scale",),
        arch: str = "sm_90",
        build: str = "{}",
        files: Mapping[str, bytes] | None = None,
    ) -> CudaBuild:
        sent = {"src/kernel.cu": source.encode(), **(files or {})}
        return compile_cuda(description(kernels, build), sent, arch, sandbox, cache)

    return run


@functools.lru_cache(maxsize=1)
def foreign_text() -> Path:
    """Return a text that the sandbox shows, and that is neither the package's nor a header of CUDA."""
    return next(path for path in map(Path, ("/usr/bin/ldd", "/usr/bin/zgrep", "/usr/bin/which")) if path.is_file())
