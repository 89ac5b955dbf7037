namespace {

constexpr int kMaxThreads = 512;
constexpr int kMaxWarps = kMaxThreads / 32;
constexpr int kPerThread = 16;

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

struct Maximum {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// The block's values folded to one by `combine`, in every thread. Each call has a `shared` of its own, so that no
// thread can write it while another still reads.
template <class Combine>
__device__ float block_fold(float value, float (&shared)[kMaxWarps], Combine combine) {
    for (int reach = 16; reach > 0; reach /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffU, value, reach));
    }
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = shared[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) {
        value = combine(value, shared[warp]);
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

// Subtracts before it multiplies: so the error grows with the distance from the maximum and not with its size.
__device__ float power_of(float value, float largest) {
    constexpr float log2_e = 1.44269504F;
    return exp2f((value - largest) * log2_e);
}

template <bool kIsAligned>
__device__ float largest_of(const Strip<kIsAligned>& strip) {
    float largest = strip.values[0];
#pragma unroll
    for (int i = 1; i < kPerThread; ++i) {
        largest = fmaxf(largest, strip.values[i]);
    }
    return largest;
}

// The elements become their powers; returns the sum of these. One that is not there adds nothing.
template <bool kIsAligned>
__device__ float raise(Strip<kIsAligned>& strip, float largest) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        strip.values[i] = power_of(strip.values[i], largest);
        sum += strip.values[i];
    }
    return sum;
}

template <bool kIsAligned>
__device__ void scale(Strip<kIsAligned>& strip, float factor) {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        strip.values[i] *= factor;
    }
}

template <bool kIsAligned>
__device__ void softmax_row(const float* x, float* y, int cols) {
    __shared__ float maxima[kMaxWarps];
    __shared__ float sums[kMaxWarps];
    const float infinity = __int_as_float(0x7f800000);
    const int reach = kPerThread * static_cast<int>(blockDim.x);
    Strip<kIsAligned> strip;
    strip.load(x, cols, -infinity);
    float largest = largest_of(strip);
    if (cols <= reach) {
        largest = block_fold(largest, maxima, Maximum());
        const float sum = block_fold(raise(strip, largest), sums, Sum());
        scale(strip, 1 / sum);
        strip.store(y, cols);
        return;
    }
    // The first strip is whole: every thread has a finite maximum from here on.
    float sum = raise(strip, largest);
    for (int begin = reach; begin < cols; begin += reach) {
        strip.load(x + begin, cols - begin, -infinity);
        const float before = largest;
        largest = fmaxf(largest, largest_of(strip));
        sum = sum * power_of(before, largest) + raise(strip, largest);
    }
    const float of_row = block_fold(largest, maxima, Maximum());
    sum = block_fold(sum * power_of(largest, of_row), sums, Sum());
    for (int begin = 0; begin < cols; begin += reach) {
        strip.load(x + begin, cols - begin, -infinity);
        raise(strip, of_row);
        scale(strip, 1 / sum);
        strip.store(y + begin, cols - begin);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
    const long long row = static_cast<long long>(blockIdx.x) * cols;
    if (cols % 4 == 0) {
        softmax_row<true>(x + row, y + row, cols);
    } else {
        softmax_row<false>(x + row, y + row, cols);
    }
}
