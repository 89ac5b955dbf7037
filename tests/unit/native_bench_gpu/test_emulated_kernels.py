"""Whole kernels, compiled by NVRTC and emulated, against numpy."""

from math import erf

import numpy as np
import pytest

from native_bench.gpu.emulator import DeviceMemory
from tests.unit.native_bench_gpu.emulator_cast import Input, compiled, needs_nvrtc, run

pytestmark = needs_nvrtc


def _draw(*shape: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _bf16(values: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def test_it_runs_saxpy_over_a_ragged_grid() -> None:
    kernel = compiled("""
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}""")
    x, y = _draw(1000), _draw(1000, seed=8)
    (z,) = run(
        kernel, "saxpy", (8, 128), Input(x), Input(y), np.zeros(1000, "f4"), np.float32(2.5), np.int32(1000)
    )
    expected = (2.5 * x.astype(np.float64) + y).astype(np.float32)
    assert np.array_equal(z, expected)


def test_it_runs_a_tiled_matrix_product() -> None:
    kernel = compiled("""
extern "C" __global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[16][16], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int step = 0; step < k; step += 16) {
        left[threadIdx.y][threadIdx.x] = row < m && step + threadIdx.x < k ? a[row * k + step + threadIdx.x] : 0.f;
        right[threadIdx.y][threadIdx.x] =
            column < n && step + threadIdx.y < k ? b[(step + threadIdx.y) * n + column] : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}""")
    a, b = _draw(37, 45), _draw(45, 50, seed=9)
    extents = (np.int32(37), np.int32(50), np.int32(45))
    (c,) = run(kernel, "product", ((4, 3), (16, 16)), Input(a), Input(b), np.zeros((37, 50), "f4"), *extents)
    assert np.allclose(c, a.astype(np.float64) @ b, atol=1e-4)


def test_it_runs_a_reduction_by_shuffles_and_atomics() -> None:
    kernel = compiled("""
extern "C" __global__ void total(const float* x, float* out, int n) {
    __shared__ float partial[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.f;
        for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}""")
    x = _draw(5000)
    (out,) = run(kernel, "total", (4, 256), Input(x), np.zeros(1, "f4"), np.int32(5000))
    assert np.allclose(out[0], x.astype(np.float64).sum(), atol=1e-2)


def test_it_runs_a_softmax_over_rows() -> None:
    kernel = compiled("""
__device__ float over_block(float value, bool is_max, float* room) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int o = 16; o; o >>= 1) {
        float other = __shfl_xor_sync(~0u, value, o);
        value = is_max ? fmaxf(value, other) : value + other;
    }
    if (lane == 0) room[warp] = value;
    __syncthreads();
    value = room[0];
    for (int i = 1; i < blockDim.x / 32; ++i) value = is_max ? fmaxf(value, room[i]) : value + room[i];
    __syncthreads();
    return value;
}
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
    __shared__ float room[32];
    const float* row = x + blockIdx.x * columns;
    float most = __int_as_float(0xff800000), sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
    most = over_block(most, true, room);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - most);
    sum = over_block(sum, false, room);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[blockIdx.x * columns + i] = expf(row[i] - most) / sum;
}""")
    x = _draw(5, 300)
    (y,) = run(kernel, "softmax", (5, 128), Input(x), np.zeros_like(x), np.int32(300))
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    assert np.allclose(y, powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_it_runs_a_histogram_in_shared_memory() -> None:
    kernel = compiled("""
extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}""")
    x = np.random.default_rng(3).integers(0, 256, 9999).astype(np.uint8)
    (bins,) = run(kernel, "histogram", (3, 256), Input(x), np.zeros(256, "u4"), np.int32(9999))
    assert np.array_equal(bins, np.bincount(x, minlength=256))


def test_it_runs_half_arithmetic() -> None:
    kernel = compiled("""
#include <cuda_fp16.h>
extern "C" __global__ void mix(const __half* x, const __half2* p, __half* y, __half2* q, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = __hadd(__hmul(x[i], __float2half(0.5f)), __hsub(x[i], __float2half(1.25f)));
    q[i] = __hfma2(p[i], p[i], __float2half2_rn(0.75f));
}""")
    x, p = _draw(200).astype(np.float16), _draw(200, 2).astype(np.float16)
    empty = (np.zeros(200, "f2"), np.zeros((200, 2), "f2"))
    y, q = run(kernel, "mix", (2, 128), Input(x), Input(p), *empty, np.int32(200))
    assert np.array_equal(y, (x * np.float16(0.5)) + (x - np.float16(1.25)))
    assert np.array_equal(q, (p.astype(np.float64) ** 2 + 0.75).astype(np.float16))


def test_it_runs_bfloat16_arithmetic() -> None:
    kernel = compiled("""
#include <cuda_bf16.h>
extern "C" __global__ void scale(const __nv_bfloat16* x, __nv_bfloat16* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(x[i], __float2bfloat16(a), __float2bfloat16(1.0f));
}""")
    x = _bf16(_draw(100))
    (y,) = run(kernel, "scale", (1, 128), Input(x), np.zeros(100, "u2"), np.float32(1.5), np.int32(100))
    assert np.array_equal(y, _bf16(_from_bf16(x) * np.float32(1.5) + np.float32(1)))


def test_it_finds_templates_by_their_lowered_names() -> None:
    source = """
template <typename T, int SCALE> __global__ void scaled(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * SCALE;
}"""
    names = ("scaled<float, 3>", "scaled<long long, 5>")
    kernel = compiled(source, names=names)
    x = np.arange(50)
    (single,) = run(kernel, names[0], (1, 64), Input(x.astype("f4")), np.zeros(50, "f4"), np.int32(50))
    (whole,) = run(kernel, names[1], (1, 64), Input(x), np.zeros(50, "i8"), np.int32(50))
    assert np.array_equal(single, x * 3) and np.array_equal(whole, x * 5)


def test_it_runs_cooperative_groups() -> None:
    kernel = compiled("""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sums(const int* x, int* of_tile, int* of_block) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    __shared__ int shared[64];
    int value = x[block.thread_rank()];
    int sum = cg::reduce(tile, value, cg::plus<int>());
    if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = sum;
    shared[block.thread_rank()] = value;
    block.sync();
    if (block.thread_rank() == 0) { int all = 0; for (int i = 0; i < 64; ++i) all += shared[i]; *of_block = all; }
}""")
    x = np.arange(64, dtype=np.int32) ** 2
    tiles, whole = run(kernel, "sums", (1, 64), Input(x), np.zeros(8, "i4"), np.zeros(1, "i4"))
    assert np.array_equal(tiles, x.reshape(8, 8).sum(1)) and whole[0] == x.sum()


def test_it_runs_vector_loads_and_constant_memory() -> None:
    kernel = compiled("""
__constant__ float4 weight = {1.f, 2.f, 3.f, 4.f};
__constant__ int shift[3] = {10, 20, 30};
extern "C" __global__ void weighted(const float4* x, float* y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    y[i] = v.x * weight.x + v.y * weight.y + v.z * weight.z + v.w * weight.w + shift[i % 3];
}""")
    x = np.arange(80, dtype=np.float32).reshape(20, 4)
    (y,) = run(kernel, "weighted", (1, 32), Input(x), np.zeros(20, "f4"), np.int32(20))
    assert np.allclose(y, x @ np.array([1, 2, 3, 4]) + np.array([10, 20, 30])[np.arange(20) % 3])


def test_it_runs_a_register_tiled_product() -> None:
    kernel = compiled("""
extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float left[32][8], right[8][32];
    float sum[4][4] = {};
    int tx = threadIdx.x % 8, ty = threadIdx.x / 8;
    for (int step = 0; step < n; step += 8) {
        for (int i = threadIdx.x; i < 256; i += 64) {
            left[i / 8][i % 8] = a[(blockIdx.y * 32 + i / 8) * n + step + i % 8];
            right[i / 32][i % 32] = b[(step + i / 32) * n + blockIdx.x * 32 + i % 32];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += left[ty * 4 + i][k] * right[k][tx * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j)
        c[(blockIdx.y * 32 + ty * 4 + i) * n + blockIdx.x * 32 + tx * 4 + j] = sum[i][j];
}""")
    a, b = _draw(64, 64), _draw(64, 64, seed=2)
    (c,) = run(kernel, "tiled", ((2, 2), 64), Input(a), Input(b), np.zeros((64, 64), "f4"), np.int32(64))
    assert np.allclose(c, a.astype(np.float64) @ b, atol=1e-4)


def test_it_runs_an_inclusive_scan() -> None:
    kernel = compiled("""
extern "C" __global__ void scan(const int* x, int* y) {
    __shared__ int sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, value = x[threadIdx.x];
    for (int o = 1; o < 32; o <<= 1) { int other = __shfl_up_sync(~0u, value, o); if (lane >= o) value += other; }
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    int before = 0;
    for (int i = 0; i < warp; ++i) before += sums[i];
    y[threadIdx.x] = value + before;
}""")
    x = np.random.default_rng(5).integers(-50, 50, 256).astype(np.int32)
    (y,) = run(kernel, "scan", (1, 256), Input(x), np.zeros(256, "i4"))
    assert np.array_equal(y, np.cumsum(x))


def test_it_runs_a_bitonic_sort() -> None:
    kernel = compiled("""
extern "C" __global__ void sort(float* x) {
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (unsigned size = 2; size <= 256; size <<= 1)
        for (unsigned stride = size >> 1; stride; stride >>= 1) {
            unsigned other = t ^ stride;
            if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {
                float held = s[t]; s[t] = s[other]; s[other] = held;
            }
            __syncthreads();
        }
    x[t] = s[t];
}""")
    x = _draw(256)
    (y,) = run(kernel, "sort", (1, 256), x)
    assert np.array_equal(y, np.sort(x))


def test_it_runs_compare_and_swap_loops() -> None:
    kernel = compiled("""
__device__ double add(double* at, double value) {
    auto* bits = (unsigned long long*)at;
    unsigned long long old = *(volatile unsigned long long*)bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, __double_as_longlong(value + __longlong_as_double(seen)));
    } while (seen != old);
    return __longlong_as_double(old);
}
extern "C" __global__ void sums(const double* x, double* out, unsigned* order) {
    add(out, x[threadIdx.x]);
    atomicMax(&order[0], threadIdx.x); atomicMin(&order[1], threadIdx.x + 5);
    atomicXor(&order[2], 1u << (threadIdx.x % 32));
    order[4 + atomicInc(&order[3], 1000u)] = 1;
}""")
    x = np.arange(64, dtype=np.float64)
    order = np.zeros(68, "u4")
    order[1] = 1000
    out, order = run(kernel, "sums", (1, 64), Input(x), np.zeros(1, "f8"), order)
    assert out[0] == x.sum() and order.tolist() == [63, 5, 0, 64, *[1] * 64]


def test_it_runs_dp4a_and_byte_permutes() -> None:
    kernel = compiled("""
extern "C" __global__ void dots(const int* a, const int* b, int* c, unsigned* d) {
    c[threadIdx.x] = __dp4a(a[threadIdx.x], b[threadIdx.x], (int)threadIdx.x);
    d[threadIdx.x] = __byte_perm(a[threadIdx.x], b[threadIdx.x], 0x3715);
}""")
    a, b = np.random.default_rng(1).integers(-128, 128, (2, 32, 4)).astype(np.int8)
    inputs = (Input(a.view(np.int32)), Input(b.view(np.int32)))
    c, d = run(kernel, "dots", (1, 32), *inputs, np.zeros(32, "i4"), np.zeros((32, 4), "u1"))
    assert np.array_equal(c, (a.astype(int) * b).sum(1) + np.arange(32))
    assert np.array_equal(d, np.concatenate([a, b], 1)[:, [5, 1, 7, 3]].view(np.uint8))


@pytest.mark.parametrize("layout", ["row", "col"])
def test_it_runs_wmma(layout: str) -> None:
    kernel = compiled(
        """
#include <mma.h>
using namespace nvcuda::wmma;
template <typename L, bool IS_ROW> __global__ void product(const half* a, const half* b, float* c, int n) {
    fragment<matrix_a, 16, 16, 16, half, row_major> left;
    fragment<matrix_b, 16, 16, 16, half, L> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 1.f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(left, a + blockIdx.y * 16 * n + k, n);
        load_matrix_sync(right, IS_ROW ? b + k * n + blockIdx.x * 16 : b + blockIdx.x * 16 * n + k, n);
        mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2.f;
    store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, mem_row_major);
}""",
        names=(f"product<nvcuda::wmma::{layout}_major, {str(layout == 'row').lower()}>",),
    )
    a, b = _draw(32, 32).astype(np.float16), _draw(32, 32, seed=4).astype(np.float16)
    stored = b if layout == "row" else b.T
    name = f"product<nvcuda::wmma::{layout}_major, {str(layout == 'row').lower()}>"
    inputs = (Input(a), Input(np.ascontiguousarray(stored)))
    (c,) = run(kernel, name, ((2, 2), 32), *inputs, np.zeros((32, 32), "f4"), np.int32(32))
    assert np.allclose(c, 2 * (a.astype(np.float64) @ b + 1), atol=1e-5)


MMA = """
#include <cuda_fp16.h>
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void product(const __half* a, const __half* b, float* c) {
    __shared__ __align__(16) __half left[16][16], right[16][8];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) left[i / 16][i % 16] = a[i];
    for (int i = lane; i < 128; i += 32) right[i / 8][i % 8] = b[i];
    __syncwarp();
    unsigned l[4], r[2];
    float s[4] = {0, 0, 0, 0};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(l[0]), "=r"(l[1]), "=r"(l[2]), "=r"(l[3]) : "r"(at(&left[lane % 16][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
        : "=r"(r[0]), "=r"(r[1]) : "r"(at(&right[lane % 16][0])));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
        : "r"(l[0]), "r"(l[1]), "r"(l[2]), "r"(l[3]), "r"(r[0]), "r"(r[1]));
    for (int i = 0; i < 4; ++i) c[(lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + i % 2] = s[i];
}"""


def test_it_runs_mma_with_ldmatrix() -> None:
    a, b = _draw(16, 16).astype(np.float16), _draw(16, 8, seed=6).astype(np.float16)
    (c,) = run(compiled(MMA), "product", (1, 32), Input(a), Input(b), np.zeros((16, 8), "f4"))
    assert np.allclose(c, a.astype(np.float64) @ b, atol=1e-5)


def test_it_runs_a_double_buffer_of_asynchronous_copies() -> None:
    kernel = compiled("""
#include <cuda_pipeline.h>
extern "C" __global__ void sums(const float4* x, float4* y, int tiles) {
    __shared__ float4 room[2][64];
    float4 sum = {0, 0, 0, 0};
    __pipeline_memcpy_async(&room[0][threadIdx.x], &x[threadIdx.x], 16);
    __pipeline_commit();
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles)
            __pipeline_memcpy_async(&room[(t + 1) & 1][threadIdx.x], &x[(t + 1) * 64 + threadIdx.x], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = room[t & 1][63 - threadIdx.x];
        sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}""")
    x = _draw(5, 64, 4)
    (y,) = run(kernel, "sums", (1, 64), Input(x), np.zeros((64, 4), "f4"), np.int32(5))
    assert np.allclose(y, x.sum(0)[::-1], atol=1e-5)


def test_it_runs_dynamic_shared_memory_and_device_variables() -> None:
    kernel = compiled("""
__device__ int calls = 40;
extern "C" __global__ void reversed(const int* x, int* y, int n) {
    extern __shared__ int room[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) room[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = room[n - 1 - i] + calls;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&calls, 1);
}""")
    x, memory = np.arange(500, dtype=np.int32), DeviceMemory()
    source, target = memory.allocate(2000, "x", True, x), memory.allocate(2000, "y")
    for addend in (40, 41):
        kernel.module.launch("reversed", (1, 1, 1), (96, 1, 1), 2000, [source, target, np.int32(500)], memory)
        assert np.array_equal(memory.fetch(target, np.int32), x[::-1] + addend)


def test_it_runs_inline_assembly() -> None:
    kernel = compiled("""
__device__ unsigned majority(unsigned a, unsigned b, unsigned c) {
    unsigned d; asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d;
}
extern "C" __global__ void bits(const unsigned* x, unsigned* y) {
    unsigned v = x[threadIdx.x], a, b, lane;
    asm("{ .reg .b32 t; shl.b32 t, %1, 3; add.u32 %0, t, 7; }" : "=r"(a) : "r"(v));
    asm("bfe.u32 %0, %1, 4, 9;" : "=r"(b) : "r"(v));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    y[threadIdx.x] = majority(a, b, lane) ^ __brev(v) ^ __funnelshift_l(v, a, b) ^ (unsigned)__clz(v) ^ __popc(v);
}""")
    x = np.random.default_rng(11).integers(0, 2**32, 64, dtype=np.uint32)
    (y,) = run(kernel, "bits", (1, 64), Input(x), np.zeros(64, "u4"))
    for at, v in enumerate(x.tolist()):
        a, b, lane = (v * 8 + 7) % 2**32, v >> 4 & 511, at % 32
        both = a << 32 | v
        funnel = (both << (b % 32)) >> 32 & 0xFFFF_FFFF
        expected = (a & b | a & lane | b & lane) ^ int(f"{v:032b}"[::-1], 2) ^ funnel
        assert y[at] == expected ^ (32 - v.bit_length()) ^ v.bit_count()


def test_it_runs_functions_that_are_not_inlined() -> None:
    kernel = compiled("""
struct Pair { int index; double weight[2]; };
__device__ __noinline__ double pick(Pair p, int which) { return p.weight[which & 1] * p.index; }
__device__ __noinline__ Pair swapped(Pair p, int by) {
    if (by == 0) return p;
    Pair q; q.index = p.index + by; q.weight[0] = p.weight[1]; q.weight[1] = p.weight[0];
    return q;
}
extern "C" __global__ void calls(double* y, Pair p) {
    int i = threadIdx.x;
    Pair own = p; own.index = i;
    y[i] = pick(swapped(own, i & 3), i) + (i % 5 ? pick(own, 1) : 0.0);
}""")
    fields = {
        "names": ["index", "w", "v"],
        "formats": ["<i4", "<f8", "<f8"],
        "offsets": [0, 8, 16],
        "itemsize": 24,
    }
    pair = np.array([(7, 1.5, -2.0)], np.dtype(fields))
    (y,) = run(kernel, "calls", (1, 40), np.zeros(40), pair.tobytes())
    for i in range(40):
        by, weight = i & 3, (1.5, -2.0)
        first = (weight if by == 0 else weight[::-1])[i & 1] * (i + by)
        assert y[i] == first + (weight[1] * i if i % 5 else 0.0)


def test_it_runs_lambdas_and_structs() -> None:
    kernel = compiled("""
struct Affine { float scale, shift; __device__ float operator()(float v) const { return v * scale + shift; } };
template <typename F> __device__ void each(const float* x, float* y, int n, F f) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = f(x[i]);
}
extern "C" __global__ void both(const float* x, float* y, int n, Affine affine) {
    float bias = affine.shift * 2;
    each(x, y, n, [=](float v) { return affine(v) + bias; });
}""")
    x = np.arange(100, dtype=np.float32)
    affine = np.array([3, 0.5], np.float32).tobytes()
    (y,) = run(kernel, "both", (1, 32), Input(x), np.zeros(100, "f4"), np.int32(100), affine)
    assert np.array_equal(y, 3 * x + np.float32(1.5))


def test_it_runs_local_arrays_with_computed_indices() -> None:
    kernel = compiled("""
extern "C" __global__ void sorted(const int* x, int* y) {
    int own[12];
    for (int i = 0; i < 12; ++i) own[i] = x[threadIdx.x * 12 + i];
    for (int i = 1; i < 12; ++i) {
        int v = own[i], j = i;
        while (j > 0 && own[j - 1] > v) { own[j] = own[j - 1]; --j; }
        own[j] = v;
    }
    for (int i = 0; i < 12; ++i) y[threadIdx.x * 12 + i] = own[i];
}""")
    x = np.random.default_rng(2).integers(-99, 99, (70, 12)).astype(np.int32)
    (y,) = run(kernel, "sorted", (1, 70), Input(x), np.zeros_like(x))
    assert np.array_equal(y, np.sort(x, 1))


def test_it_runs_votes_and_matches() -> None:
    kernel = compiled("""
extern "C" __global__ void votes(const int* x, unsigned* y) {
    int v = x[threadIdx.x];
    unsigned ballot = __ballot_sync(~0u, v > 3), match = __match_any_sync(~0u, v);
    unsigned any = __any_sync(~0u, v == 9), all = __all_sync(~0u, v >= 0);
    unsigned sum = __reduce_add_sync(~0u, (unsigned)v);
    unsigned some = 0;
    if (v & 1) some = __activemask();
    y[threadIdx.x * 4] = ballot; y[threadIdx.x * 4 + 1] = match; y[threadIdx.x * 4 + 2] = any * 2 + all;
    y[threadIdx.x * 4 + 3] = sum ^ some;
}""")
    x = np.random.default_rng(4).integers(0, 10, 64).astype(np.int32)
    (y,) = run(kernel, "votes", (1, 64), Input(x), np.zeros((64, 4), "u4"))
    for at in range(64):
        warp = x[at // 32 * 32 :][:32]
        bits = lambda chosen: sum(1 << i for i in range(32) if chosen[i])  # noqa: E731
        assert y[at, 0] == bits(warp > 3) and y[at, 1] == bits(warp == x[at])
        assert y[at, 2] == 2 * (9 in warp) + 1
        assert y[at, 3] == int(warp.sum()) ^ (bits(warp & 1 == 1) if x[at] & 1 else 0)


def test_it_runs_the_mathematical_functions() -> None:
    kernel = compiled("""
extern "C" __global__ void maths(const float* x, float* y, const double* u, double* v) {
    int i = threadIdx.x;
    float a = x[i];
    y[i] = sinf(a) * cosf(a) + expf(-a * a) + logf(fabsf(a) + 1) + sqrtf(fabsf(a)) + powf(fabsf(a), 1.3f)
         + tanhf(a) + erff(a) + floorf(a) + rintf(a * 3) + fmodf(a, 0.7f) + __fdividef(a, 3.f) + rsqrtf(a * a + 1);
    v[i] = exp(u[i]) + log(fabs(u[i]) + 1) + sin(u[i]) / (1 + u[i] * u[i]) + sqrt(fabs(u[i]));
}""")
    x, u = _draw(128) * 3, _draw(128, seed=3).astype(np.float64)
    y, v = run(kernel, "maths", (1, 128), Input(x), np.zeros(128, "f4"), Input(u), np.zeros(128))
    a = x.astype(np.float64)
    expected = np.sin(a) * np.cos(a) + np.exp(-a * a) + np.log1p(abs(a)) + np.sqrt(abs(a)) + abs(a) ** 1.3
    expected += np.tanh(a) + [erf(t) for t in a] + np.floor(a) + np.rint((x * np.float32(3)).astype(float))
    expected += np.fmod(a, float(np.float32(0.7))) + a / 3 + 1 / np.sqrt(a * a + 1)
    assert np.allclose(y, expected, rtol=1e-5, atol=1e-5)
    doubles = np.exp(u) + np.log1p(abs(u)) + np.sin(u) / (1 + u * u) + np.sqrt(abs(u))
    assert np.allclose(v, doubles, rtol=1e-14)


def test_it_runs_a_sum_that_the_last_block_finishes() -> None:
    kernel = compiled("""
__device__ unsigned done;
extern "C" __global__ void total(const float* x, float* partial, float* out) {
    __shared__ float room[64];
    __shared__ bool is_last;
    room[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < 64; ++i) sum += room[i];
        partial[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicAdd(&done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += partial[i];
        *out = sum;
    }
}""")
    x = _draw(10, 64)
    _, out = run(kernel, "total", (10, 64), Input(x), np.zeros(10, "f4"), np.zeros(1, "f4"))
    assert np.isclose(out[0], x.astype(np.float64).sum(), atol=1e-3)


def test_it_lets_blocks_take_turns_at_a_lock() -> None:
    kernel = compiled("""
__device__ int lock;
extern "C" __global__ void counted(int* value) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence();
        *(volatile int*)value += 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}""")
    (value,) = run(kernel, "counted", (20, 32), np.zeros(1, "i4"))
    assert value[0] == 20


def test_it_runs_a_switch_and_a_launch_of_several_dimensions() -> None:
    kernel = compiled("""
extern "C" __global__ void cases(const int* x, int* y) {
    int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y
          + threadIdx.y * blockDim.x + threadIdx.x, v = x[i];
    switch (v) {
        case 0: v = i; break;   case 1: v = i * i; break;  case 2: v = -i; break;  case 3: v = i ^ 77; break;
        case 4: v = i % 7; break; case 5: v = i / 3; break; case 6: v = 1 << (i & 7); break; default: v = 1234;
    }
    y[i] = v;
}""")
    x = np.random.default_rng(8).integers(0, 9, 240).astype(np.int32)
    (y,) = run(kernel, "cases", ((2, 3, 2), (5, 4)), Input(x), np.zeros(240, "i4"))
    for i, v in enumerate(x.tolist()):
        known = [i, i * i, -i, i ^ 77, i % 7, i // 3, 1 << (i & 7)]
        assert y[i] == (known[v] if v < 7 else 1234)
