"""The reader of cubins: real ones of every arch of the report, and damaged ones."""

import re
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from native_bench.gpu.cubin import BadCubin, Cubin, Variable, read_cubin
from native_bench.gpu.static_report import REPORT_ARCHS
from tests.unit.native_bench_gpu.conftest import SCALE, Compile

RICH = """
__constant__ float weights[25];
__device__ int counter;
__device__ float table[4] = {1, 2, 3, 4};
extern "C" __global__ void __launch_bounds__(96) rich(float* x, int n) {
    __shared__ float tile[96];
    float own[200];
    #pragma unroll 1
    for (int i = 0; i < 200; ++i) own[i * n % 200] = x[i];
    tile[threadIdx.x] = own[n % 200] * weights[n] + table[n & 3];
    __syncthreads();
    x[threadIdx.x] = tile[95 - threadIdx.x];
    atomicAdd(&counter, 1);
}
extern "C" __global__ void plain(float* x) { x[threadIdx.x] = 2; }
"""
PRINTS = '{ printf("%d", n); int* p = (int*)malloc(n); p[0] = i; free(p); } if'

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def rich(compiled: Compile) -> bytes:
    return compiled(RICH, ["rich", "plain"]).cubin


@pytest.mark.parametrize("arch", REPORT_ARCHS)
def test_it_reads_what_a_kernel_takes(compiled: Compile, arch: str) -> None:
    build = compiled(RICH, ["rich", "plain"], arch)
    cubin = read_cubin(build.cubin)
    kernel, plain = cubin.kernel("rich"), cubin.kernel("plain")
    assert kernel is not None
    assert plain is not None
    assert (kernel.max_threads, plain.max_threads) == (96, None)
    assert (kernel.static_shared_bytes, plain.static_shared_bytes) == (384, 0)
    assert kernel.frame_bytes >= 800
    assert kernel.min_stack_bytes >= kernel.frame_bytes
    assert (plain.frame_bytes, plain.min_stack_bytes) == (0, 0)
    assert (kernel.barriers, plain.barriers) == (1, 0)
    assert kernel.constant_bytes > plain.constant_bytes > 0
    assert kernel.code_bytes > plain.code_bytes > 0
    assert kernel.code_bytes + plain.code_bytes <= cubin.code_bytes


@pytest.mark.parametrize("arch", REPORT_ARCHS)
def test_it_agrees_with_what_the_assembler_says(compiled: Compile, arch: str) -> None:
    build = compiled(RICH, ["rich", "plain"], arch)
    said = re.findall(r"Used (\d+) registers(?:, used (\d+) barriers)?", build.ptxas)
    kernels = read_cubin(build.cubin).kernels
    assert sorted((str(kernel.registers), str(kernel.barriers)) for kernel in kernels) == sorted(said)


@pytest.mark.parametrize("arch", REPORT_ARCHS)
def test_it_tells_device_memory_from_constant_memory(compiled: Compile, arch: str) -> None:
    cubin = read_cubin(compiled(RICH, ["rich", "plain"], arch).cubin)
    assert cubin.constant_bytes == 100
    assert cubin.device_bytes == 20
    assert set(cubin.device_variables) == {Variable("counter", 4), Variable("table", 16)}


@pytest.mark.parametrize("arch", REPORT_ARCHS)
def test_it_names_what_the_driver_is_to_supply(compiled: Compile, arch: str) -> None:
    calling = read_cubin(compiled(SCALE.replace("if", PRINTS), arch=arch).cubin)
    assert set(calling.undefined) == {"vprintf", "malloc", "free"}
    shared = SCALE.replace("int i", "extern __shared__ float s[]; s[threadIdx.x] = a; __syncthreads(); int i")
    assert read_cubin(compiled(shared, arch=arch).cubin).undefined == ()


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(200), b"no cubin at all" * 20])
def test_it_refuses_what_is_no_cubin(data: bytes) -> None:
    with pytest.raises(BadCubin):
        read_cubin(data)


def outcome(data: bytes) -> Cubin | BadCubin:
    try:
        return read_cubin(data)
    except BadCubin as error:
        return error


def test_no_cut_gets_past_it(rich: bytes) -> None:
    ends = [outcome(rich[:length]) for length in range(0, len(rich), 7)]
    assert any(isinstance(end, BadCubin) for end in ends)
    whole = read_cubin(rich)
    assert all(isinstance(end, BadCubin) or end == whole for end in ends)


fuzz = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@fuzz
@given(
    places=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=8)), max_size=8)
)
def test_damage_ends_in_our_own_error_only(rich: bytes, places: list[tuple[float, bytes]]) -> None:
    damaged = bytearray(rich)
    for place, content in places:
        at = int(place * len(rich))
        damaged[at : at + len(content)] = content
    assert isinstance(outcome(bytes(damaged)), Cubin | BadCubin)


@fuzz
@given(row=st.integers(0, 60), column=st.integers(0, 7), value=st.integers(0, (1 << 64) - 1))
def test_odd_section_headers_end_in_our_own_error_only(rich: bytes, row: int, column: int, value: int) -> None:
    [table] = struct.unpack_from("<Q", rich, 40)
    damaged = bytearray(rich)
    at = table + 64 * row + 8 * column
    if at + 8 <= len(damaged):
        struct.pack_into("<Q", damaged, at, value)
    assert isinstance(outcome(bytes(damaged)), Cubin | BadCubin)


@fuzz
@given(data=st.binary(max_size=300))
def test_random_bytes_behind_a_header_end_in_our_own_error_only(rich: bytes, data: bytes) -> None:
    assert isinstance(outcome(rich[:64] + data), Cubin | BadCubin)


def test_tables_that_overlap_are_not_read_for_ever(rich: bytes) -> None:
    [table] = struct.unpack_from("<Q", rich, 40)
    names = rich[table + 64 : table + 128]
    symbols = struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, 0, 24 * (len(rich) // 24), 1, 0, 8, 24)
    count = 5000
    damaged = bytearray(rich) + names + names + symbols * count
    struct.pack_into("<Q", damaged, 40, len(rich))
    struct.pack_into("<H", damaged, 60, count + 2)
    struct.pack_into("<H", damaged, 62, 1)
    with pytest.raises(BadCubin):
        read_cubin(bytes(damaged))
