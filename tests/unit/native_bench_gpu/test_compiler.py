"""What NVRTC makes of a package, by real builds in the sandbox."""

import dataclasses
from pathlib import Path

import pytest

from native_bench.cache import ContentCache
from native_bench.gpu.compiler import compile_cuda
from native_bench.gpu.cubin import read_cubin
from native_bench.gpu.toolchain import (
    PACKAGES_12,
    PACKAGES_13,
    find_toolchain,
    installed_toolchain,
    supported_archs,
)
from native_bench.sandbox.interface import Exit, Sandbox
from tests.unit.native_bench_gpu.conftest import SCALE, Compile, description, refusal

needs_sandbox = pytest.mark.sandbox
TEMPLATE = """
template <class T, int N> __global__ void fill(T* x) { x[threadIdx.x] = T(N); }
namespace own { __global__ void one(float* x) { x[0] = 1; } }
"""


@needs_sandbox
def test_it_gives_cubin_and_ptx_of_the_source(compiled: Compile) -> None:
    build = compiled(SCALE)
    assert build.cubin == build.cubin_path.read_bytes()
    assert [kernel.name for kernel in read_cubin(build.cubin).kernels] == ["scale"]
    assert ".visible .entry scale(" in build.ptx
    assert ".target sm_90" in build.ptx
    assert (build.arch, build.log) == ("sm_90", "")
    assert build.compiler.startswith("NVRTC ")


@needs_sandbox
def test_it_gives_the_symbols_of_templates_and_namespaces(compiled: Compile) -> None:
    build = compiled(SCALE + TEMPLATE, ["fill<float, 4>", "own::one", "scale", "scale"])
    symbols = {kernel.name for kernel in read_cubin(build.cubin).kernels}
    assert set(build.lowered) == {"fill<float, 4>", "own::one", "scale"}
    assert set(build.lowered.values()) == symbols
    assert build.lowered["scale"] == "scale"


@needs_sandbox
def test_it_takes_defines_and_include_folders(compiled: Compile) -> None:
    includes = '#include "own.h"\n#include <cuda_fp16.h>\n#include "../lib/more.h"\n'
    source = f"{includes}static_assert(OWN + MORE == N);\n{SCALE}"
    files = {"include/own.h": b"#define OWN 3\n", "lib/more.h": b"#define MORE 4\n"}
    assert compiled(source, build="{include_dirs: [include], defines: {N: 7}}", files=files).log == ""


@needs_sandbox
def test_it_finds_a_header_beside_the_source(compiled: Compile) -> None:
    assert compiled(f'#include "own.h"\n{SCALE}', files={"src/own.h": b"#pragma once\n"}).log == ""


@needs_sandbox
@pytest.mark.parametrize(
    "header", ["cuda_fp16.h", "cuda_bf16.h", "mma.h", "cooperative_groups.h", "cuda/std/limits"]
)
def test_it_has_cudas_headers(compiled: Compile, header: str) -> None:
    assert compiled(f"#include <{header}>\n{SCALE}").log == ""


@needs_sandbox
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100", "sm_120"])
def test_it_builds_for_the_arch_that_is_asked_for(compiled: Compile, arch: str) -> None:
    assert f".target {arch}" in compiled(SCALE, arch=arch).ptx


@needs_sandbox
@pytest.mark.parametrize("arch", ["sm_35", "sm_80a", "compute_90", "gfx928", "sm_90 -DX", ""])
def test_it_refuses_an_arch_that_the_compiler_does_not_know(compiled: Compile, arch: str) -> None:
    end = refusal(lambda: compiled(SCALE, arch=arch))
    assert (str(end.verdict), end.code) == ("build_failed", "build:arch")
    assert "sm_80, " in end.message
    assert "sm_90a" in end.details["archs"]


@needs_sandbox
def test_every_arch_that_it_names_can_be_built_for(compiled: Compile) -> None:
    for arch in (name for name in supported_archs() if name.endswith(("a", "f"))):
        assert compiled(SCALE, arch=arch).cubin


@needs_sandbox
def test_it_finds_a_build_again_by_content(sandbox: Sandbox, tmp_path: Path) -> None:
    def built(source: str, arch: str = "sm_90", build: str = "{}") -> bool:
        files = {"src/kernel.cu": source.encode(), ".kernel_package/desc.yaml": source.encode()}
        return compile_cuda(description(build=build), files, arch, sandbox, ContentCache(tmp_path)).was_cached

    assert [built(SCALE), built(SCALE)] == [False, True]
    assert not built(SCALE, arch="sm_80")
    assert not built(SCALE, build="{defines: {N: 1}}")
    assert not built(SCALE + "//")


@needs_sandbox
def test_a_build_found_again_is_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {"src/kernel.cu": SCALE.encode()}
    first, again = (compile_cuda(description(), files, "sm_90", sandbox, ContentCache(tmp_path)) for _ in range(2))
    assert dataclasses.replace(first, was_cached=True) == again


@needs_sandbox
def test_it_says_which_kernel_is_missing(compiled: Compile) -> None:
    end = refusal(lambda: compiled(SCALE, ["other<3>"]))
    assert (str(end.verdict), end.code) == ("build_failed", "build:no-kernel")
    assert 'identifier "other" is undefined' in end.message


@needs_sandbox
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("__shared__ float s[30000]; s[threadIdx.x] = 1; __syncthreads(); y[0] = s[7];", "too much shared data"),
        ('asm volatile("bogus;");', "Not a name of any known instruction: 'bogus'"),
        ("scale<<<1, 1>>>(x, y, a, n);", "device"),
    ],
)
def test_it_shows_what_the_assembler_refuses(compiled: Compile, body: str, message: str) -> None:
    end = refusal(lambda: compiled(SCALE.replace("int i", f"{body} int i")))
    assert (str(end.verdict), end.code) == ("build_failed", "build:compile-error")
    assert message in end.message


ENDLESS = {
    "a template that grows": "template <int N, int M> struct F { static constexpr int v = F<N - 1, 2 * M>::v + "
    "F<N - 1, 2 * M + 1>::v; };\ntemplate <int M> struct F<0, M> { static constexpr int v = M; };\n"
    "int v = F<30, 0>::v;",
    "a template without end": "template <int N> struct G { static constexpr int v = G<N + 1>::v; };\n"
    "static_assert(G<0>::v == 1);",
    "a constant without end": "constexpr int f() { int s = 0; for (;;) ++s; return s; }\nconstexpr int v = f();",
    "a file that includes itself": '#include "kernel.cu"',
    "a device that never ends": '#include "/dev/zero"',
}


@needs_sandbox
@pytest.mark.parametrize("line", ENDLESS.values(), ids=list(ENDLESS))
def test_an_endless_source_ends_with_a_clear_word(compiled: Compile, line: str) -> None:
    end = refusal(lambda: compiled(f"{line}\n{SCALE}"))
    assert str(end.verdict) in ("build_failed", "timed_out", "out_of_memory")
    assert end.code.startswith("build:")
    assert "see the log" not in end.message


class Answering:
    """A sandbox whose program ends as it is told."""

    def __init__(self, ended: Exit) -> None:
        self._ended = ended

    def run(self, *_: object, **__: object) -> Exit:
        return self._ended


@pytest.mark.parametrize(
    ("ended", "verdict", "code"),
    [
        (Exit("timed_out", None, None, b"", b"", 30), "timed_out", "build:timed-out"),
        (Exit("out_of_memory", None, None, b"", b"", 3), "out_of_memory", "build:out-of-memory"),
        (Exit("output_flood", None, None, b"", b"", 3), "build_failed", "build:too-large"),
        (Exit("signalled", None, "SIGSEGV", b"", b"", 3), "build_failed", "build:compiler-crashed"),
        (Exit("exited", 3, None, b"", b"no such file", 3), "infra_error", "build:sandbox"),
        (Exit("setup_failed", None, None, b"", b"no", 3), "infra_error", "build:sandbox"),
        (Exit("exited", 0, None, b"[]\n", b"", 3), "infra_error", "build:sandbox"),
        (Exit("exited", 0, None, b'{"lowered": [1]}', b"", 3), "infra_error", "build:sandbox"),
        (Exit("exited", 0, None, b"", b"", 3), "infra_error", "build:sandbox"),
    ],
)
def test_each_end_of_the_compiler_has_its_verdict(tmp_path: Path, ended: Exit, verdict: str, code: str) -> None:
    files = {"src/kernel.cu": SCALE.encode()}
    cell = Answering(ended)
    end = refusal(lambda: compile_cuda(description(), files, "sm_90", cell, ContentCache(tmp_path)))  # type: ignore[arg-type]
    assert (str(end.verdict), end.code) == (verdict, code)


def test_without_nvrtc_it_names_the_packages(tmp_path: Path) -> None:
    end = refusal(lambda: find_toolchain([tmp_path], tmp_path / "cuda"))
    assert (str(end.verdict), end.code) == ("infra_error", "prepare:no-nvrtc")
    assert all(name in end.message for name in (*PACKAGES_12, *PACKAGES_13))


def laid_out(folder: Path, names: list[str]) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_it_finds_the_wheels_of_cuda_13(tmp_path: Path) -> None:
    names = ["lib/libnvrtc.so.13", "lib/libnvrtc.alt.so.13", "lib/libnvrtc-builtins.so.13.0"]
    headers = ["include/cuda_fp16.h", "include/crt/mma.h", "include/cccl/nv/target"]
    laid_out(tmp_path / "cu13", [*names, *headers])
    found = find_toolchain([tmp_path], tmp_path / "none")
    assert found.library == tmp_path / "cu13/lib/libnvrtc.so.13"
    assert found.builtins == tmp_path / "cu13/lib/libnvrtc-builtins.so.13.0"
    assert found.includes == (tmp_path / "cu13/include", tmp_path / "cu13/include/cccl")


def test_it_does_without_wheels_that_lack_a_header(tmp_path: Path) -> None:
    laid_out(tmp_path / "nvidia", ["cuda_nvrtc/lib/libnvrtc.so.12", "cuda_nvrtc/lib/libnvrtc-builtins.so.12.9"])
    laid_out(tmp_path / "nvidia", ["cuda_runtime/include/cuda_fp16.h", "cuda_cccl/include/nv/target"])
    names = ["lib64/libnvrtc.so.13", "lib64/libnvrtc-builtins.so.13.0", "include/cuda_fp16.h", "include/crt/mma.h"]
    laid_out(tmp_path / "cuda", [*names, "include/cccl/nv/target"])
    assert (
        find_toolchain([tmp_path / "nvidia"], tmp_path / "cuda").library == tmp_path / "cuda/lib64/libnvrtc.so.13"
    )


def test_another_library_is_another_toolchain(tmp_path: Path) -> None:
    names = ["lib64/libnvrtc.so.13", "lib64/libnvrtc-builtins.so.13.0", "include/cuda_fp16.h", "include/crt/mma.h"]
    laid_out(tmp_path, [*names, "include/nv/target"])
    found = find_toolchain([], tmp_path)
    before = found.fingerprint
    found.library.write_bytes(b"newer")
    assert found.fingerprint != before


def test_this_machine_has_the_archs_of_the_report() -> None:
    assert {"sm_80", "sm_90", "sm_90a", "sm_100"} <= set(supported_archs())
    assert installed_toolchain().library.is_file()
