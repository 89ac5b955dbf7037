// The products are plain fp32 FMAs. Tensor cores take fp32 as TF32, eleven significant bits, which the tolerance
// refuses. Splitting each operand in two (three products for one) comes close to fp32, but tensor cores cut off what
// they add up instead of rounding it, and that error grows with the depth faster than the bound.

namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kRows = 4;  // queries of one warp
constexpr int kQueries = kWarps * kRows;
constexpr int kKeys = 64;  // of one block: two for each lane

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

__device__ float quad_product(float4 a, float4 b, float sum) {
    sum += a.x * b.x;
    sum += a.y * b.y;
    sum += a.z * b.z;
    return sum + a.w * b.w;
}

__device__ float warp_maximum(float value) {
    for (int reach = 16; reach > 0; reach /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, reach));
    }
    return value;
}

__device__ float warp_sum(float value) {
    for (int reach = 16; reach > 0; reach /= 2) {
        value += __shfl_xor_sync(0xffffffffU, value, reach);
    }
    return value;
}

// One head, and the queries of it that this block answers.
struct Head {
    const float* q;
    const float* k;
    const float* v;
    float* y;
    int length;
    int dim;
    bool is_causal;
    int first;  // query

    __device__ int end_of_keys() const { return is_causal ? min(length, first + kQueries) : length; }
};

// Begins to copy kCount rows of `dim` elements, of which `there` exist; the rest, and what `width` has beyond `dim`,
// becomes zero. kSlices times 32 is at least `width`.
template <int kCount, int kSlices, int kWidth>
__device__ void copy_rows_by(float* to, int pitch, int width, const float* from, int there, int dim) {
    constexpr int kAcross = 32 * kSlices / kWidth < 32 ? 32 * kSlices / kWidth : 32;  // threads of one row
    const int column = static_cast<int>(threadIdx.x) % kAcross * kWidth;
    for (int row = static_cast<int>(threadIdx.x) / kAcross; row < kCount; row += kThreads / kAcross) {
        for (int at = column; at < width; at += kAcross * kWidth) {
            copy_async<kWidth>(to + row * pitch + at, from + row * dim + at, row < there && at < dim);
        }
    }
}

template <int kCount, int kSlices>
__device__ void copy_rows(float* to, int pitch, int width, const float* from, int there, int dim) {
    // Quads must begin at 16 bytes in every row and never lie half outside.
    if (dim % 4 == 0) {
        copy_rows_by<kCount, kSlices, 4>(to, pitch, width, from, there, dim);
    } else {
        copy_rows_by<kCount, kSlices, 1>(to, pitch, width, from, there, dim);
    }
}

// The block's shared memory. Rows of queries and keys are an odd number of quads apart, so that eight lanes that read
// eight keys meet all banks.
template <int kSlices>
struct Shared {
    static constexpr int kValuePitch = 32 * kSlices;
    int width;  // of a query or key, in whole quads
    int pitch;
    float* queries;
    float* keys;
    float* values;
    float4* weights;  // this warp's: of its four queries for each key

    __device__ Shared(float* from, int dim)
        : width((dim + 3) / 4 * 4),
          pitch(4 * (width / 4 | 1)),
          queries(from),
          keys(queries + kQueries * pitch),
          values(keys + kKeys * pitch),
          weights(reinterpret_cast<float4*>(values + kKeys * kValuePitch) + threadIdx.x / 32 * kKeys) {}

    __device__ void copy_queries(const Head& head) const {
        const float* from = head.q + static_cast<long long>(head.first) * head.dim;
        copy_rows<kQueries, kSlices>(queries, pitch, width, from, head.length - head.first, head.dim);
    }

    __device__ void copy_keys(const Head& head, int first) const {
        const float* from = head.k + static_cast<long long>(first) * head.dim;
        copy_rows<kKeys, kSlices>(keys, pitch, width, from, head.length - first, head.dim);
        end_group();
    }

    __device__ void copy_values(const Head& head, int first) const {
        const float* from = head.v + static_cast<long long>(first) * head.dim;
        copy_rows<kKeys, kSlices>(values, kValuePitch, kValuePitch, from, head.length - first, head.dim);
        end_group();
    }
};

// What one warp knows of its four queries. Each lane has two keys of a block and kSlices elements of the outputs.
template <int kSlices>
struct Queries {
    int first;
    float largest[kRows];
    float total[kRows];  // of this lane's weights
    float sums[kRows][kSlices] = {};

    __device__ explicit Queries(const Head& head) : first(head.first + static_cast<int>(threadIdx.x) / 32 * kRows) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            largest[r] = __int_as_float(0xff800000);  // minus infinity
            total[r] = 0;
        }
    }

    __device__ void score(float (&scores)[kRows][2], const Shared<kSlices>& shared) const {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const float* q = shared.queries + threadIdx.x / 32 * kRows * shared.pitch;
        const float* k = shared.keys + lane * shared.pitch;
        for (int p = 0; p < shared.width; p += 4) {
            const float4 near = *reinterpret_cast<const float4*>(k + p);
            const float4 far = *reinterpret_cast<const float4*>(k + 32 * shared.pitch + p);
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const float4 query = *reinterpret_cast<const float4*>(q + r * shared.pitch + p);
                scores[r][0] = quad_product(query, near, scores[r][0]);
                scores[r][1] = quad_product(query, far, scores[r][1]);
            }
        }
    }

    // Turns scores into weights relative to the largest score so far, and takes what was summed before down to it.
    // Every query sees at least the first key of each block that its thread block reads: blocks of keys begin at
    // multiples of kKeys, which is a multiple of kQueries.
    __device__ void weigh(float (&scores)[kRows][2], const Head& head, int first_key) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        constexpr float log2_e = 1.44269504F;
        const float scale = log2_e / sqrtf(static_cast<float>(head.dim));
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const int last = head.is_causal ? min(head.length - 1, first + r) : head.length - 1;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const bool is_seen = first_key + lane + 32 * half <= last;
                scores[r][half] = is_seen ? scores[r][half] * scale : __int_as_float(0xff800000);
            }
            const float now = fmaxf(largest[r], warp_maximum(fmaxf(scores[r][0], scores[r][1])));
            const float factor = exp2f(largest[r] - now);
            largest[r] = now;
            scores[r][0] = exp2f(scores[r][0] - now);
            scores[r][1] = exp2f(scores[r][1] - now);
            total[r] = total[r] * factor + (scores[r][0] + scores[r][1]);
#pragma unroll
            for (int slice = 0; slice < kSlices; ++slice) {
                sums[r][slice] *= factor;
            }
        }
    }

    __device__ void add_values(const Shared<kSlices>& shared, int keys) {
        const float* v = shared.values + threadIdx.x % 32;
#pragma unroll 4
        for (int key = 0; key < keys; ++key) {
            const float4 weights = shared.weights[key];
#pragma unroll
            for (int slice = 0; slice < kSlices; ++slice) {
                const float value = v[key * Shared<kSlices>::kValuePitch + 32 * slice];
                sums[0][slice] += weights.x * value;
                sums[1][slice] += weights.y * value;
                sums[2][slice] += weights.z * value;
                sums[3][slice] += weights.w * value;
            }
        }
    }

    __device__ void write(const Head& head) const {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const float factor = 1 / warp_sum(total[r]);
#pragma unroll
            for (int slice = 0; slice < kSlices; ++slice) {
                const int at = lane + 32 * slice;
                if (first + r < head.length && at < head.dim) {
                    head.y[static_cast<long long>(first + r) * head.dim + at] = sums[r][slice] * factor;
                }
            }
        }
    }
};

template <int kSlices>
__device__ void attend(const Head& head, float* memory) {
    const Shared<kSlices> shared(memory, head.dim);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int end = head.end_of_keys();
    Queries<kSlices> queries(head);
    shared.copy_queries(head);
    shared.copy_keys(head, 0);
    for (int first = 0; first < end; first += kKeys) {
        shared.copy_values(head, first);
        wait_for_groups<1>();
        __syncthreads();
        float scores[kRows][2] = {};
        queries.score(scores, shared);
        __syncthreads();
        if (first + kKeys < end) {
            shared.copy_keys(head, first + kKeys);
        } else {
            end_group();  // empty: the wait below counts groups
        }
        queries.weigh(scores, head, first);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            shared.weights[lane + 32 * half] =
                make_float4(scores[0][half], scores[1][half], scores[2][half], scores[3][half]);
        }
        wait_for_groups<1>();
        __syncthreads();
        queries.add_values(shared, min(kKeys, end - first));
        __syncthreads();
    }
    queries.write(head);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    attention(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
              float* __restrict__ y, int length, int dim, int causal) {
    extern __shared__ float4 memory[];
    const unsigned blocks = (static_cast<unsigned>(length) + kQueries - 1) / kQueries;  // of one head
    const long long at = static_cast<long long>(blockIdx.x / blocks) * length * dim;
    const int first = static_cast<int>(blockIdx.x % blocks) * kQueries;
    const Head head{q + at, k + at, v + at, y + at, length, dim, causal != 0, first};
    auto* shared = reinterpret_cast<float*>(memory);
    if (dim <= 32) {
        attend<1>(head, shared);
    } else if (dim <= 64) {
        attend<2>(head, shared);
    } else if (dim <= 128) {
        attend<4>(head, shared);
    } else {
        attend<8>(head, shared);
    }
}
