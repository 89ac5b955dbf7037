namespace {

constexpr int kThreads = 256;

__device__ void add(float4& sum, float4 x) {
    sum.x += x.x;
    sum.y += x.y;
    sum.z += x.z;
    sum.w += x.w;
}

// The sum over the warp, in its first lane.
__device__ float warp_sum(float value) {
    for (int reach = 16; reach > 0; reach /= 2) {
        value += __shfl_down_sync(0xffffffffU, value, reach);
    }
    return value;
}

// The sum over the block, in its first thread.
__device__ float block_sum(float value) {
    __shared__ float sums[kThreads / 32];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    return warp_sum(threadIdx.x < kThreads / 32 ? sums[threadIdx.x] : 0.0F);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    partial_sums(const float* __restrict__ x, float* __restrict__ partial, long long n) {
    const auto* x4 = reinterpret_cast<const float4*>(x);
    const int quads = static_cast<int>(n / 4);
    const int stride = static_cast<int>(gridDim.x) * kThreads;
    int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
    float4 sums[4] = {};
    for (; i + 3 * stride < quads; i += 4 * stride) {
        const float4 x0 = x4[i], x1 = x4[i + stride], x2 = x4[i + 2 * stride], x3 = x4[i + 3 * stride];
        add(sums[0], x0);
        add(sums[1], x1);
        add(sums[2], x2);
        add(sums[3], x3);
    }
    for (; i < quads; i += stride) {
        add(sums[0], x4[i]);
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4) {
        sums[0].x += x[4 * quads + static_cast<int>(threadIdx.x)];
    }
    float sum = 0;
    for (const float4& four : sums) {
        sum += (four.x + four.y) + (four.z + four.w);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

// One block: the sum of the blocks' sums.
extern "C" __global__ void __launch_bounds__(kThreads) total(const float* partial, float* z, int count) {
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += kThreads) {
        sum += partial[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        z[0] = sum;
    }
}
