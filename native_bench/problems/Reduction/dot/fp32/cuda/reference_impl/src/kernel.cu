namespace {

constexpr int kThreads = 256;

// The sum of the block's values in its first thread: each round folds the upper half onto the lower.
__device__ float block_sum(float value) {
    __shared__ float sums[kThreads];
    sums[threadIdx.x] = value;
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    return sums[threadIdx.x];
}

}  // namespace

extern "C" __global__ void partial_dots(const float* x, const float* y, float* partial, long long n) {
    float sum = 0;
    const long long stride = static_cast<long long>(gridDim.x) * kThreads;
    for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) {
        sum += x[i] * y[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

// One block: the sum of the blocks' sums.
extern "C" __global__ void total(const float* partial, float* z, int count) {
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += kThreads) {
        sum += partial[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        z[0] = sum;
    }
}
