// The products are plain fp32 FMAs. Tensor cores take fp32 as TF32, eleven significant bits, which the tolerance
// refuses. Splitting each operand in two (three products for one) comes close to fp32, but tensor cores cut off what
// they add up instead of rounding it, and that error grows with the depth faster than the bound.

namespace {

constexpr int kThreads = 256;

__host__ __device__ constexpr int max_of(int a, int b) { return a > b ? a : b; }

__device__ void read_quad(float* to, const float* from) {
    const float4 quad = *reinterpret_cast<const float4*>(from);
    to[0] = quad.x;
    to[1] = quad.y;
    to[2] = quad.z;
    to[3] = quad.w;
}

// Copies kFloats from global to shared memory behind the threads' back; what is not there becomes zero.
template <int kFloats>
__device__ void copy_async(float* to, const float* from, bool is_there) {
    if (!is_there) {
#pragma unroll
        for (int i = 0; i < kFloats; ++i) {
            to[i] = 0;
        }
        return;
    }
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    if constexpr (kFloats == 4) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
    } else {
        static_assert(kFloats == 1);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from) : "memory");
    }
}

__device__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all of this thread's copies but those of the last kPending groups.
template <int kPending>
__device__ void wait_for_groups() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// How a block of threads shares a tile of the output. Each group of threads computes the whole tile from its own part
// of every stage's depth; the groups' sums are added at the end, in a fixed order.
template <int kRows_, int kColumns_, int kDepth_, int kR_, int kC_>
struct Layout {
    static constexpr int kRows = kRows_;
    static constexpr int kColumns = kColumns_;
    static constexpr int kDepth = kDepth_;
    static constexpr int kR = kR_;  // rows and columns of one thread's part
    static constexpr int kC = kC_;
    static constexpr int kAcross = kColumns / kC;
    static constexpr int kDown = kRows / kR;
    static constexpr int kGroups = kThreads / (kAcross * kDown);
    static constexpr int kShare = kDepth / kGroups;
    // Four words beyond the depth: rows that a warp reads together begin at different banks.
    static constexpr int kPitch = kDepth + 4;
    static constexpr int kStage = kRows * kPitch + kDepth * kColumns;
    static constexpr int kFloats = max_of(2 * kStage, kGroups > 1 ? kGroups * kRows * kColumns : 0);
    static_assert(kGroups * kAcross * kDown == kThreads && kShare % 4 == 0);
};

// This thread's group and its place in it.
template <class L>
struct Place {
    int group;
    int row;     // of the first of its rows, which lie L::kDown apart
    int column;  // of the first of its quads of columns, which lie 4 * L::kAcross apart

    __device__ Place() {
        constexpr int across = L::kAcross < 8 ? L::kAcross : 8;  // threads of a warp
        const int thread = static_cast<int>(threadIdx.x) % (L::kAcross * L::kDown);
        const int lane = thread % 32;
        const int warp = thread / 32;
        group = static_cast<int>(threadIdx.x) / (L::kAcross * L::kDown);
        column = 4 * (lane % across + across * (warp % (L::kAcross / across)));
        row = lane / across + 32 / across * (warp / (L::kAcross / across));
    }
};

template <class L>
struct Sums {
    float values[L::kR][L::kC] = {};

    // Adds the products of this group's part of one stage.
    __device__ void add(const float* stage, const Place<L>& place) {
        const float* a = stage + place.row * L::kPitch + place.group * L::kShare;
        const float* b = stage + L::kRows * L::kPitch + place.group * L::kShare * L::kColumns + place.column;
#pragma unroll
        for (int k = 0; k < L::kShare; k += 4) {
            float left[L::kR][4];
#pragma unroll
            for (int r = 0; r < L::kR; ++r) {
                read_quad(left[r], a + r * L::kDown * L::kPitch + k);
            }
#pragma unroll
            for (int step = 0; step < 4; ++step) {
                float right[L::kC];
#pragma unroll
                for (int c = 0; c < L::kC; c += 4) {
                    read_quad(right + c, b + (k + step) * L::kColumns + c * L::kAcross);
                }
                multiply_add(left, right, step);
            }
        }
    }

    __device__ void multiply_add(const float (&left)[L::kR][4], const float (&right)[L::kC], int step) {
#pragma unroll
        for (int r = 0; r < L::kR; ++r) {
#pragma unroll
            for (int c = 0; c < L::kC; ++c) {
                values[r][c] += left[r][step] * right[c];
            }
        }
    }

    // Puts this group's sums where the threads that write the output find them.
    __device__ void share(float* shared, const Place<L>& place) const {
#pragma unroll
        for (int r = 0; r < L::kR; ++r) {
#pragma unroll
            for (int c = 0; c < L::kC; ++c) {
                const int row = place.group * L::kRows + place.row + r * L::kDown;
                shared[row * L::kColumns + place.column + c / 4 * 4 * L::kAcross + c % 4] = values[r][c];
            }
        }
    }
};

// Few outputs: tiles so small that they reach all multiprocessors. Many: tiles so large that each element read from
// shared memory is used eight times.
using Small = Layout<32, 32, 64, 4, 4>;
using Large = Layout<128, 128, 16, 8, 8>;

struct Product {
    const float* a;
    const float* b;
    float* c;
    int m;
    int n;
    int k;
    int row;  // of c where this block's tile begins
    int column;
};

// Begins to copy the tiles of a and b from depth `begin` on, kWidth floats at once.
template <class L, int kWidth>
__device__ void copy_stage(float* stage, const Product& product, int begin) {
    for (int i = static_cast<int>(threadIdx.x); i < L::kRows * L::kDepth / kWidth; i += kThreads) {
        const int row = i / (L::kDepth / kWidth);
        const int depth = i % (L::kDepth / kWidth) * kWidth;
        const bool is_there = product.row + row < product.m && begin + depth < product.k;
        const float* from = product.a + (product.row + row) * product.k + begin + depth;
        copy_async<kWidth>(stage + row * L::kPitch + depth, from, is_there);
    }
    float* right = stage + L::kRows * L::kPitch;
    for (int i = static_cast<int>(threadIdx.x); i < L::kDepth * L::kColumns / kWidth; i += kThreads) {
        const int depth = i / (L::kColumns / kWidth);
        const int column = i % (L::kColumns / kWidth) * kWidth;
        const bool is_there = begin + depth < product.k && product.column + column < product.n;
        const float* from = product.b + (begin + depth) * product.n + product.column + column;
        copy_async<kWidth>(right + depth * L::kColumns + column, from, is_there);
    }
    end_group();
}

// Adds up the groups' sums and writes the tile; a thread takes every kThreads-th element, side by side with its warp.
template <class L>
__device__ void write(const float* shared, const Product& product) {
    for (int i = static_cast<int>(threadIdx.x); i < L::kRows * L::kColumns; i += kThreads) {
        const int row = product.row + i / L::kColumns;
        const int column = product.column + i % L::kColumns;
        if (row < product.m && column < product.n) {
            float sum = shared[i];
#pragma unroll
            for (int group = 1; group < L::kGroups; ++group) {
                sum += shared[group * L::kRows * L::kColumns + i];
            }
            product.c[row * product.n + column] = sum;
        }
    }
}

template <class L>
__device__ void write_own(const Sums<L>& sums, const Place<L>& place, const Product& product) {
#pragma unroll
    for (int r = 0; r < L::kR; ++r) {
        const int row = product.row + place.row + r * L::kDown;
#pragma unroll
        for (int c = 0; c < L::kC; ++c) {
            const int column = product.column + place.column + c / 4 * 4 * L::kAcross + c % 4;
            if (row < product.m && column < product.n) {
                product.c[row * product.n + column] = sums.values[r][c];
            }
        }
    }
}

template <class L, int kWidth>
__device__ void multiply(float* shared, const Product& product) {
    const Place<L> place;
    Sums<L> sums;
    copy_stage<L, kWidth>(shared, product, 0);
    int current = 0;
    for (int begin = 0; begin < product.k; begin += L::kDepth) {
        wait_for_groups<0>();
        // Now this stage is there for every thread, and no thread reads the other stage any more.
        __syncthreads();
        if (begin + L::kDepth < product.k) {
            copy_stage<L, kWidth>(shared + (1 - current) * L::kStage, product, begin + L::kDepth);
        }
        sums.add(shared + current * L::kStage, place);
        current = 1 - current;
    }
    if constexpr (L::kGroups == 1) {
        write_own(sums, place, product);
    } else {
        __syncthreads();
        sums.share(shared, place);
        __syncthreads();
        write<L>(shared, product);
    }
}

template <class L>
__device__ void multiply(float* shared, Product product) {
    product.row = static_cast<int>(blockIdx.y) * L::kRows;
    product.column = static_cast<int>(blockIdx.x) * L::kColumns;
    // Quads must begin at 16 bytes in every row and never lie half outside.
    if (product.k % 4 == 0 && product.n % 4 == 0) {
        multiply<L, 4>(shared, product);
    } else {
        multiply<L, 1>(shared, product);
    }
}

}  // namespace

// No matrix has more than 2^28 elements: an int holds every index.
extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k,
         int is_large) {
    __shared__ alignas(16) float shared[max_of(Small::kFloats, Large::kFloats)];
    const Product product{a, b, c, m, n, k, 0, 0};
    if (is_large != 0) {
        multiply<Large>(shared, product);
    } else {
        multiply<Small>(shared, product);
    }
}
