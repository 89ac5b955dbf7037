"""What a cubin is refused for, each beside its honest twin, by real compilations."""

import dataclasses

import pytest

from native_bench.gpu.cubin import read_cubin
from native_bench.gpu.cubin_rules import CODE_LIMIT_BYTES, require_allowed
from native_bench.gpu.static_report import REPORT_ARCHS
from tests.unit.native_bench_gpu.conftest import SCALE, Compile, refusal

pytestmark = pytest.mark.sandbox


def scale(body: str, before: str = "") -> str:
    return before + SCALE.replace("int i", f"{body} int i")


REFUSED = [
    ("inspect:device-memory", scale("kept[threadIdx.x] += a;", "__device__ float kept[1 << 20];"), "`kept`"),
    ("inspect:device-memory", scale("y[0] = ++calls;", "__device__ int calls = 7;"), "4 bytes"),
    ("inspect:device-memory", scale("static int calls; y[0] = ++calls;"), "4 bytes"),
    ("inspect:device-memory", scale("y[0] = ++calls;", "int calls;"), "`calls`"),
    ("inspect:device-memory", scale("y[0] = calls;", "__device__ volatile int calls;"), "`calls`"),
    (
        "inspect:device-memory",
        scale("y[0] = table[n];", "__device__ const int table[3] = {1, 2, 3};"),
        "`__constant__`",
    ),
    (
        "inspect:device-memory",
        scale("__cudart_i2opi_f[n] = 1;", "__device__ int __cudart_i2opi_f[7];"),
        "28 bytes",
    ),
    ("inspect:device-memory", scale("y[0] = 1;", "__device__ int idle[1 << 15];"), "without use"),
    (
        "inspect:device-memory",
        scale("**there = 1;", "__device__ int kept[9]; __device__ int* p = kept; __constant__ int** there = &p;"),
        "`kept`",
    ),
    (
        "inspect:device-memory",
        scale('asm volatile("{ .global .u32 own; st.global.u32 [own], %0; }" :: "r"(n));'),
        "own",
    ),
    (
        "inspect:device-memory",
        scale('asm volatile("red.global.add.u32 [kept], 1;");', 'extern "C" __device__ int kept;'),
        "`kept`",
    ),
    ("inspect:printf", scale('printf("%f", a);'), "vprintf"),
    ("inspect:device-heap", scale("int* p = (int*)malloc(8); p[0] = n; y[0] = p[0]; free(p);"), "scratch"),
    ("inspect:device-heap", scale("int* p = new int[n]; p[0] = n; y[0] = p[n - 1];"), "malloc"),
    ("inspect:printf", scale("assert(n > 0);"), "assert"),
]
HONEST = [
    scale("y[0] = table[n];", "__constant__ float table[4] = {1, 2, 3, 4};"),
    scale("__shared__ int calls; calls = n; __syncthreads(); y[0] = calls;"),
    scale("constexpr int table[4] = {1, 2, 3, 4}; y[0] = table[2];"),
    scale("y[0] = sinf(a) + powf(a, a) + erff(a) + n / (int)a + tan((double)a);"),
    "#include <cub/block/block_reduce.cuh>\n" + scale("__shared__ cub::BlockReduce<float, 128>::TempStorage s; "
    "y[0] = cub::BlockReduce<float, 128>(s).Sum(a);"),
    scale("extern __shared__ float s[]; s[threadIdx.x] = a; __syncthreads(); y[0] = s[3];"),
    scale("y[0] = __shfl_xor_sync(~0u, a, 1); atomicAdd(y, a);"),
    "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;"
    + scale("cg::this_thread_block().sync(); auto tile = cg::tiled_partition<32>(cg::this_thread_block()); "
            "y[0] = tile.shfl_down(a, 1);"),
]  # fmt: skip


@pytest.mark.parametrize("arch", REPORT_ARCHS)
@pytest.mark.parametrize(("code", "source", "word"), REFUSED)
def test_it_refuses_what_remembers_or_asks(
    compiled: Compile, arch: str, code: str, source: str, word: str
) -> None:
    build = compiled(source, arch=arch)
    end = refusal(lambda: require_allowed(build))
    assert (str(end.verdict), end.code) == ("inspect_refused", code)
    assert word in end.message
    assert end.details["findings"][0] == {"code": code, "message": end.message}


@pytest.mark.parametrize("arch", REPORT_ARCHS)
@pytest.mark.parametrize("source", HONEST)
def test_it_allows_what_only_computes(compiled: Compile, arch: str, source: str) -> None:
    build = compiled(source, arch=arch)
    assert require_allowed(build) == read_cubin(build.cubin)


def test_it_gives_every_finding(compiled: Compile) -> None:
    build = compiled(scale('printf("%d", calls); free(y);', "__device__ int calls;"))
    end = refusal(lambda: require_allowed(build))
    codes = [finding["code"] for finding in end.details["findings"]]
    assert codes == ["inspect:device-heap", "inspect:printf", "inspect:device-memory"]


@pytest.mark.parametrize(
    "call", ["cudaDeviceSynchronize();", "cudaStreamFireAndForget;", "scale<<<1, 1>>>(x, y, a, n);"]
)
def test_the_device_runtime_does_not_even_compile(compiled: Compile, call: str) -> None:
    assert refusal(lambda: compiled(scale(call))).code == "build:compile-error"


def test_it_refuses_a_declared_function_of_the_device_runtime(compiled: Compile) -> None:
    declared = 'extern "C" int cudaLaunchDevice(void*, void*, dim3, dim3, unsigned, void*);'
    end = refusal(lambda: compiled(scale("cudaLaunchDevice(0, 0, 1, 1, 0, 0);", declared)))
    assert end.code == "build:compile-error"
    assert "cudaLaunchDevice" in end.message


def test_it_refuses_what_is_launched_and_is_no_kernel(compiled: Compile) -> None:
    build = dataclasses.replace(compiled(SCALE), lowered={"scale": "scale", "other": "other"})
    end = refusal(lambda: require_allowed(build))
    assert (end.code, "`other`" in end.message) == ("inspect:no-kernel", True)


def test_it_refuses_what_is_no_cubin(compiled: Compile) -> None:
    build = dataclasses.replace(compiled(SCALE), cubin=b"\x7fELF")
    end = refusal(lambda: require_allowed(build))
    assert (str(end.verdict), end.code) == ("inspect_refused", "inspect:bad-cubin")


def test_it_refuses_a_mountain_of_code(compiled: Compile) -> None:
    body = 'float v = a; asm volatile("{\\n" '
    body += '"fma.rn.f32 %0, %0, %0, %0;\\n" ' * 1000
    body += '"}\\n" : "+f"(v));'
    functions = "".join(
        f'extern "C" __global__ void __launch_bounds__(32) k{number}(float* y, float a) {{ {body} y[0] = v; }}\n'
        for number in range(CODE_LIMIT_BYTES // 16000 + 1)
    )
    build = compiled(f"{functions}{SCALE}")
    assert refusal(lambda: require_allowed(build)).code == "inspect:code-size"
