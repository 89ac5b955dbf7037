namespace {

constexpr int kMaxThreads = 512;
constexpr int kMaxWarps = kMaxThreads / 32;
constexpr int kPerThread = 16;

// The block's values added up, in every thread. Each call has a `shared` of its own, so that no
// thread can write it while another still reads.
__device__ float block_sum(float value, float (&shared)[kMaxWarps]) {
    for (int reach = 16; reach > 0; reach /= 2) {
        value += __shfl_xor_sync(0xffffffffU, value, reach);
    }
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = shared[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) {
        value += shared[warp];
    }
    return value;
}

// The part of a row that a block holds in registers: kPerThread elements for each thread, as quads where every row
// begins at one.
template <bool kIsAligned>
struct Strip {
    float values[kPerThread];

    // Where the element is, counted from the strip's begin.
    static __device__ int place(int i) {
        const int threads = static_cast<int>(blockDim.x);
        const int thread = static_cast<int>(threadIdx.x);
        return kIsAligned ? (i / 4 * threads + thread) * 4 + i % 4 : i * threads + thread;
    }

    // Elements from `count` on are not there.
    __device__ void load(const float* from, int count, float missing) {
        if constexpr (kIsAligned) {
#pragma unroll
            for (int i = 0; i < kPerThread; i += 4) {
                const float4 none = make_float4(missing, missing, missing, missing);
                const float4 quad = place(i) < count ? *reinterpret_cast<const float4*>(from + place(i)) : none;
                values[i] = quad.x;
                values[i + 1] = quad.y;
                values[i + 2] = quad.z;
                values[i + 3] = quad.w;
            }
        } else {
#pragma unroll
            for (int i = 0; i < kPerThread; ++i) {
                values[i] = place(i) < count ? from[place(i)] : missing;
            }
        }
    }

    __device__ void store(float* to, int count) const {
        if constexpr (kIsAligned) {
#pragma unroll
            for (int i = 0; i < kPerThread; i += 4) {
                if (place(i) < count) {
                    *reinterpret_cast<float4*>(to + place(i)) =
                        make_float4(values[i], values[i + 1], values[i + 2], values[i + 3]);
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < kPerThread; ++i) {
                if (place(i) < count) {
                    to[place(i)] = values[i];
                }
            }
        }
    }
};

template <bool kIsAligned>
__device__ float sum_of(const Strip<kIsAligned>& strip) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        sum += strip.values[i];
    }
    return sum;
}

template <bool kIsAligned>
__device__ float squares_of(const Strip<kIsAligned>& strip, float mean, int count) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const float deviation = Strip<kIsAligned>::place(i) < count ? strip.values[i] - mean : 0;
        sum += deviation * deviation;
    }
    return sum;
}

struct Row {
    const float* x;
    const float* gamma;
    const float* beta;
    float* y;
    int cols;
};

// The strip that begins at `begin`, normalised and written.
template <bool kIsAligned>
__device__ void write(Strip<kIsAligned>& strip, const Row& row, int begin, float mean, float factor) {
    const int count = row.cols - begin;
    Strip<kIsAligned> gamma;
    Strip<kIsAligned> beta;
    gamma.load(row.gamma + begin, count, 0);
    beta.load(row.beta + begin, count, 0);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        strip.values[i] = (strip.values[i] - mean) * factor * gamma.values[i] + beta.values[i];
    }
    strip.store(row.y + begin, count);
}

template <bool kIsAligned>
__device__ void layernorm_row(const Row& row, float eps) {
    __shared__ float sums[kMaxWarps];
    __shared__ float squares[kMaxWarps];
    const int reach = kPerThread * static_cast<int>(blockDim.x);
    const auto cols = static_cast<float>(row.cols);
    Strip<kIsAligned> strip;
    strip.load(row.x, row.cols, 0);
    float sum = sum_of(strip);
    for (int begin = reach; begin < row.cols; begin += reach) {
        strip.load(row.x + begin, row.cols - begin, 0);
        sum += sum_of(strip);
    }
    const float mean = block_sum(sum, sums) / cols;
    float square = 0;
    if (row.cols <= reach) {
        square = squares_of(strip, mean, row.cols);
        write(strip, row, 0, mean, 1 / sqrtf(block_sum(square, squares) / cols + eps));
        return;
    }
    for (int begin = 0; begin < row.cols; begin += reach) {
        strip.load(row.x + begin, row.cols - begin, 0);
        square += squares_of(strip, mean, row.cols - begin);
    }
    const float factor = 1 / sqrtf(block_sum(square, squares) / cols + eps);
    for (int begin = 0; begin < row.cols; begin += reach) {
        strip.load(row.x + begin, row.cols - begin, 0);
        write(strip, row, begin, mean, factor);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    layernorm(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
              float* __restrict__ y, float eps, int cols) {
    const long long at = static_cast<long long>(blockIdx.x) * cols;
    const Row row{x + at, gamma, beta, y + at, cols};
    if (cols % 4 == 0) {
        layernorm_row<true>(row, eps);
    } else {
        layernorm_row<false>(row, eps);
    }
}
