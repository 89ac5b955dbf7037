"""Planted bugs: each is found, with its kind, its line, and the thread that met it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from native_bench.gpu.emulator import Budget, FaultKind
from tests.unit.native_bench_gpu.emulator_cast import FILE, Input, compiled, fault_of, line_of, needs_nvrtc, run

pytestmark = needs_nvrtc


@dataclass(frozen=True)
class Bug:
    """A kernel `k`, its launch, and the fault it must end with; the line is the one marked `// here`."""

    kind: FaultKind
    source: str
    arguments: tuple[Any, ...]
    shape: tuple[Any, Any] = (1, 64)
    message: str = ""
    thread: int | None = None
    block: int | None = None
    shared_bytes: int = 0
    budget: Budget = field(default_factory=Budget)


def _zeros(count: int = 64, dtype: str = "f4") -> np.ndarray:
    return np.zeros(count, dtype)


_PIPELINE = "#include <cuda_pipeline.h>\n"

BUGS = {
    "a read one beyond a buffer": Bug(
        FaultKind.OUT_OF_BOUNDS,
        """extern "C" __global__ void k(const float* x, float* y) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            y[i] = x[i + 1]; // here
        }""",
        (Input(_zeros(128)), _zeros(128)),
        (2, 64),
        "read of 4 bytes at byte 512 of argument 0 (input0), which has 512 bytes",
        thread=63,
        block=1,
    ),
    "a write one before a buffer": Bug(
        FaultKind.OUT_OF_BOUNDS,
        """extern "C" __global__ void k(float* y) {
            y[(int)threadIdx.x - 1] = 1; // here
        }""",
        (_zeros(),),
        message="write of 4 bytes at byte -4 of argument 0",
        thread=0,
    ),
    "an index wrong by a whole array": Bug(
        FaultKind.OUT_OF_BOUNDS,
        """extern "C" __global__ void k(const float* x, float* y, long long stride) {
            y[threadIdx.x] = x[threadIdx.x * stride]; // here
        }""",
        (Input(_zeros()), _zeros(), np.int64(1 << 20)),
        message="of argument 0",
        thread=1,
    ),
    "a null pointer": Bug(
        FaultKind.OUT_OF_BOUNDS,
        """extern "C" __global__ void k(float* y, float* nothing) {
            y[threadIdx.x] = nothing[threadIdx.x]; // here
        }""",
        (_zeros(), np.uint64(0)),
        message="where no buffer is",
    ),
    "a write one beyond a shared array": Bug(
        FaultKind.OUT_OF_BOUNDS,
        """extern "C" __global__ void k(float* y) {
            __shared__ float s[64];
            s[threadIdx.x + 1] = 1; // here
            __syncthreads();
            y[threadIdx.x] = s[threadIdx.x];
        }""",
        (_zeros(),),
        message="byte 256 of",
        thread=63,
    ),
    "dynamic shared memory that the launch made too small": Bug(
        FaultKind.OUT_OF_BOUNDS,
        """extern "C" __global__ void k(float* y) {
            extern __shared__ float s[];
            s[threadIdx.x] = 1; // here
            __syncthreads();
            y[threadIdx.x] = s[63 - threadIdx.x];
        }""",
        (_zeros(),),
        message="byte 128 of s, which has 128 bytes",
        thread=32,
        shared_bytes=128,
    ),
    "a local array that is too short": Bug(
        FaultKind.OUT_OF_BOUNDS,
        """extern "C" __global__ void k(const int* at, int* y) {
            int own[4] = {1, 2, 3, 4};
            own[at[threadIdx.x]] = 9; // here
            y[threadIdx.x] = own[at[threadIdx.x] / 2];
        }""",
        (Input(np.arange(64, dtype="i4") % 64), _zeros(64, "i4")),
        message="local memory",
    ),
    "a missing barrier": Bug(
        FaultKind.SHARED_RACE,
        """extern "C" __global__ void k(const float* x, float* y) {
            __shared__ float s[64];
            s[threadIdx.x] = x[threadIdx.x];
            y[threadIdx.x] = s[63 - threadIdx.x]; // here
        }""",
        (Input(np.arange(64, dtype="f4")), _zeros()),
        message="after a write by thread",
    ),
    "a second barrier missing in a loop": Bug(
        FaultKind.SHARED_RACE,
        """extern "C" __global__ void k(const float* x, float* y) {
            __shared__ float s[64];
            float sum = 0;
            for (int i = 0; i < 4; ++i) {
                s[threadIdx.x] = x[i * 64 + threadIdx.x]; // here
                __syncthreads();
                sum += s[63 - threadIdx.x];
            }
            y[threadIdx.x] = sum;
        }""",
        (Input(np.arange(256, dtype="f4")), _zeros()),
        message="after a read by thread",
    ),
    "warp-synchronous code without __syncwarp": Bug(
        FaultKind.SHARED_RACE,
        """extern "C" __global__ void k(const float* x, float* y) {
            __shared__ float s[32];
            s[threadIdx.x] = x[threadIdx.x];
            __syncwarp();
            if (threadIdx.x < 16) s[threadIdx.x] += s[threadIdx.x + 16];
            if (threadIdx.x < 8) s[threadIdx.x] += s[threadIdx.x + 8]; // here
            if (threadIdx.x == 0) *y = s[0];
        }""",
        (Input(np.arange(32, dtype="f4")), _zeros(1)),
        (1, 32),
    ),
    "two threads that write different values to one shared place": Bug(
        FaultKind.SHARED_RACE,
        """extern "C" __global__ void k(int* y) {
            __shared__ int s[32];
            s[threadIdx.x / 2] = threadIdx.x; // here
            __syncthreads();
            y[threadIdx.x] = s[threadIdx.x / 2];
        }""",
        (_zeros(64, "i4"),),
        message="write of 4 bytes",
    ),
    "an atomic count read without a barrier": Bug(
        FaultKind.SHARED_RACE,
        """extern "C" __global__ void k(int* y) {
            __shared__ int count;
            if (threadIdx.x == 0) count = 0;
            __syncthreads();
            atomicAdd(&count, 1);
            y[threadIdx.x] = count; // here
        }""",
        (_zeros(64, "i4"),),
    ),
    "blocks that add to one place of global memory": Bug(
        FaultKind.GLOBAL_RACE,
        """extern "C" __global__ void k(float* y) {
            if (threadIdx.x == 0) y[0] += blockIdx.x + 1.f; // here
        }""",
        (_zeros(),),
        (4, 64),
        "and blocks of a launch are not ordered",
    ),
    "threads of a block that exchange through global memory": Bug(
        FaultKind.GLOBAL_RACE,
        """extern "C" __global__ void k(float* y) {
            y[threadIdx.x] = threadIdx.x;
            y[threadIdx.x + 64] = y[63 - threadIdx.x]; // here
        }""",
        (_zeros(128),),
        message="of this block with no barrier between",
    ),
    "a block that reads what another block writes": Bug(
        FaultKind.GLOBAL_RACE,
        """extern "C" __global__ void k(float* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            float before = y[(i + 64) % n];
            __syncthreads();
            y[i] = before + 1; // here
        }""",
        (_zeros(256), np.int32(256)),
        (4, 64),
        "of block",
    ),
    "shared memory that nobody wrote": Bug(
        FaultKind.UNINITIALISED_SHARED,
        """extern "C" __global__ void k(const float* x, float* y, int n) {
            __shared__ float s[64];
            if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            y[threadIdx.x] = s[63 - threadIdx.x]; // here
        }""",
        (Input(_zeros()), _zeros(), np.int32(60)),
        message="byte 252 of",
        thread=0,
    ),
    "a shuffle whose mask names lanes that are elsewhere": Bug(
        FaultKind.WARP_MASK,
        """extern "C" __global__ void k(const float* x, float* y) {
            float v = x[threadIdx.x];
            if (threadIdx.x % 32 < 16) v += __shfl_down_sync(0xffffffffu, v, 8); // here
            y[threadIdx.x] = v;
        }""",
        (Input(_zeros()), _zeros()),
        message="lanes 0xffff0000 do not come",
    ),
    "a shuffle from a lane that has returned": Bug(
        FaultKind.WARP_MASK,
        """extern "C" __global__ void k(const float* x, float* y, int n) {
            if (threadIdx.x >= n) return;
            float v = x[threadIdx.x];
            y[threadIdx.x] = v + __shfl_down_sync(0xffffffffu, v, 8); // here
        }""",
        (Input(_zeros()), _zeros(), np.int32(20)),
        (1, 32),
        "which does not take part",
        thread=12,
    ),
    "a vote by a lane outside its mask": Bug(
        FaultKind.WARP_MASK,
        """extern "C" __global__ void k(unsigned* y) {
            y[threadIdx.x] = __ballot_sync(0x0000ffffu, threadIdx.x & 1); // here
        }""",
        (_zeros(64, "u4"),),
        message="lane 16 is not in the mask",
        thread=16,
    ),
    "a barrier that half of a warp leaves out": Bug(
        FaultKind.DEADLOCK,
        """extern "C" __global__ void k(float* y) {
            if (threadIdx.x % 2) __syncthreads(); // here
            y[threadIdx.x] = 1;
        }""",
        (_zeros(),),
    ),
    "two barriers that wait for each other": Bug(
        FaultKind.DEADLOCK,
        """extern "C" __global__ void k(float* y) {
            if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;"); // here
            else asm volatile("bar.sync 2, 64;");
            y[threadIdx.x] = 1;
        }""",
        (_zeros(),),
    ),
    "an endless loop": Bug(
        FaultKind.ENDLESS_LOOP,
        """extern "C" __global__ void k(float* y, int step) {
            float v = 0;
            for (int i = 0; i < 100; i += step)
                v = v * 0.5f + y[i]; // here
            y[threadIdx.x] = v;
        }""",
        (_zeros(), np.int32(0)),
        budget=Budget(thread_instructions=200_000),
    ),
    "a vector load at an odd address": Bug(
        FaultKind.MISALIGNED,
        """extern "C" __global__ void k(const float* x, float* y) {
            float4 v = *(const float4*)(x + threadIdx.x); // here
            y[threadIdx.x] = v.x + v.y + v.z + v.w;
        }""",
        (Input(_zeros(128)), _zeros()),
        message="4 beyond a multiple",
        thread=1,
    ),
    "a write to an input": Bug(
        FaultKind.READ_ONLY,
        """extern "C" __global__ void k(float* x, float* y) {
            y[threadIdx.x] = x[threadIdx.x];
            x[threadIdx.x] = 0; // here
        }""",
        (Input(_zeros()), _zeros()),
        message="argument 0 (input0), which is an input",
    ),
    "an atomic on an input": Bug(
        FaultKind.READ_ONLY,
        """extern "C" __global__ void k(int* x) {
            atomicAdd(x, 1); // here
        }""",
        (Input(_zeros(64, "i4")),),
    ),
    "a read before the asynchronous copy has been waited for": Bug(
        FaultKind.ASYNC_COPY,
        _PIPELINE
        + """extern "C" __global__ void k(const float4* x, float4* y) {
            __shared__ float4 s[64];
            __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 16);
            __pipeline_commit();
            y[threadIdx.x] = s[threadIdx.x]; // here
            __pipeline_wait_prior(0);
        }""",
        (Input(_zeros(256)), _zeros(256)),
    ),
    "a wait for one group too few": Bug(
        FaultKind.ASYNC_COPY,
        _PIPELINE
        + """extern "C" __global__ void k(const float4* x, float4* y) {
            __shared__ float4 s[2][64];
            __pipeline_memcpy_async(&s[0][threadIdx.x], &x[threadIdx.x], 16); __pipeline_commit();
            __pipeline_memcpy_async(&s[1][threadIdx.x], &x[threadIdx.x + 64], 16); __pipeline_commit();
            __pipeline_wait_prior(1);
            y[threadIdx.x] = s[0][threadIdx.x];
            y[threadIdx.x + 64] = s[1][threadIdx.x]; // here
        }""",
        (Input(_zeros(512)), _zeros(512)),
    ),
    "a copy waited for, but only by its own thread": Bug(
        FaultKind.SHARED_RACE,
        _PIPELINE
        + """extern "C" __global__ void k(const float4* x, float4* y) {
            __shared__ float4 s[64];
            __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 16);
            __pipeline_commit();
            __pipeline_wait_prior(0);
            y[threadIdx.x] = s[63 - threadIdx.x]; // here
        }""",
        (Input(_zeros(256)), _zeros(256)),
    ),
    "an assertion": Bug(
        FaultKind.ASSERTION,
        """extern "C" __global__ void k(float* y) {
            assert(threadIdx.x < 5); // here
            y[threadIdx.x] = 1;
        }""",
        (_zeros(),),
        message="threadIdx.x < 5",
        thread=5,
    ),
    "a trap": Bug(
        FaultKind.TRAP,
        """extern "C" __global__ void k(float* y) {
            if (y[threadIdx.x] == 0) __trap(); // here
        }""",
        (_zeros(),),
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_it_finds(name: str) -> None:
    bug = BUGS[name]
    fault = fault_of(
        compiled(bug.source), "k", bug.shape, *bug.arguments, shared_bytes=bug.shared_bytes, budget=bug.budget
    )
    assert fault.kind is bug.kind, str(fault)
    assert fault.line == line_of(bug.source, "// here"), str(fault)
    assert fault.file.endswith(FILE)
    assert bug.message in fault.message, fault.message
    if bug.thread is not None:
        assert fault.thread == (bug.thread, 0, 0)
    if bug.block is not None:
        assert fault.block == (bug.block, 0, 0)


def test_there_are_enough_planted_bugs() -> None:
    assert len(BUGS) >= 20


_SCALED = """extern "C" __global__ void k(const float* x, float* y, float a, int n) {
    if (threadIdx.x < n) y[threadIdx.x] = a * x[threadIdx.x];
}"""


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({2: np.float64(2)}, "argument 2 has 8 bytes, the kernel declares 4"),
        ({3: np.int64(64)}, "argument 3 has 8 bytes, the kernel declares 4"),
        ({2: np.int32(2)}, "argument 2 is int32, the kernel declares float32"),
        ({3: np.float32(64)}, "argument 3 is float32, the kernel declares uint32"),
        ({3: 64}, "argument 3 is a Python int"),
        ({3: _zeros()}, "argument 3 has 8 bytes"),
    ],
)
def test_it_refuses_a_wrong_argument(changed: dict[int, Any], message: str) -> None:
    arguments = {0: Input(_zeros()), 1: _zeros(), 2: np.float32(2), 3: np.int32(64), **changed}
    fault = fault_of(compiled(_SCALED), "k", (1, 64), *arguments.values())
    assert fault.kind is FaultKind.BAD_ARGUMENT and message in fault.message


def test_it_refuses_a_missing_argument() -> None:
    fault = fault_of(compiled(_SCALED), "k", (1, 64), Input(_zeros()), _zeros())
    assert fault.kind is FaultKind.BAD_ARGUMENT and "takes 4 arguments, the launch passes 2" in fault.message


@pytest.mark.parametrize(
    ("shape", "name", "shared_bytes"),
    [((1, 2048), "k", 0), ((0, 64), "k", 0), ((1, 64), "other", 0), ((1, 64), "k", 1 << 20)],
)
def test_it_refuses_a_launch_that_no_device_takes(shape: tuple[int, int], name: str, shared_bytes: int) -> None:
    source = _SCALED.replace("{\n", "{ extern __shared__ float s[]; if (n < 0) y[0] = s[n];\n", 1)
    arguments = (Input(_zeros()), _zeros(), np.float32(2), np.int32(64))
    fault = fault_of(compiled(source), name, shape, *arguments, shared_bytes=shared_bytes)
    assert fault.kind is FaultKind.BAD_ARGUMENT


def test_it_says_that_memory_ran_out_without_blaming_the_kernel() -> None:
    arguments = (Input(_zeros()), _zeros(), np.float32(2), np.int32(64))
    fault = fault_of(compiled(_SCALED), "k", (1, 64), *arguments, budget=Budget(memory_bytes=100))
    assert fault.kind is FaultKind.MEMORY_BUDGET and not fault.kind.is_conclusive


def test_it_says_that_time_ran_out_without_blaming_the_kernel() -> None:
    source = 'extern "C" __global__ void k(float* y) { while (y[0] == 0) y[1] += 1; }'
    fault = fault_of(compiled(source), "k", (1, 1), _zeros(), budget=Budget(seconds=0.05))
    assert fault.kind is FaultKind.TIME_BUDGET and not fault.kind.is_conclusive


def test_it_lets_threads_write_the_same_bits_to_one_place() -> None:
    source = """extern "C" __global__ void k(const int* x, int* found) {
        __shared__ int any;
        if (threadIdx.x == 0) any = 0;
        __syncthreads();
        if (x[threadIdx.x] == 3) { any = 1; found[1] = 7; }
        __syncthreads();
        if (threadIdx.x == 0) found[0] = any;
    }"""
    (found,) = run(compiled(source), "k", (1, 64), Input(np.arange(64, dtype="i4") % 4), np.zeros(2, "i4"))
    assert found.tolist() == [1, 7]


def test_it_calls_a_race_in_bytes_by_the_byte() -> None:
    source = """extern "C" __global__ void k(const unsigned char* x, unsigned char* y) {
        __shared__ unsigned char s[64];
        s[threadIdx.x] = x[threadIdx.x];
        y[threadIdx.x] = s[threadIdx.x] + 1;
    }"""
    x = np.arange(64, dtype="u1")
    (y,) = run(compiled(source), "k", (1, 64), Input(x), np.zeros(64, "u1"))
    assert np.array_equal(y, x + 1)


def test_threads_that_return_early_keep_nobody_at_a_barrier() -> None:
    source = """extern "C" __global__ void k(float* y, float* z, int n) {
        if (threadIdx.x >= n) return;
        y[threadIdx.x] = threadIdx.x;
        __syncthreads();
        z[threadIdx.x] = y[n - 1 - threadIdx.x];
    }"""
    _, z = run(compiled(source), "k", (1, 64), _zeros(), _zeros(), np.int32(40))
    assert np.array_equal(z[:40], np.arange(40)[::-1])
