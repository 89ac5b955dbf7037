namespace {

constexpr int kThreads = 256;

// The block's values added up, in every thread.
__device__ float block_sum(float value) {
    __shared__ float values[kThreads];
    __syncthreads();
    values[threadIdx.x] = value;
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            values[threadIdx.x] += values[threadIdx.x + half];
        }
    }
    __syncthreads();
    return values[0];
}

}  // namespace

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, float eps,
                                     long long cols) {
    const float* from = x + blockIdx.x * cols;
    float* to = y + blockIdx.x * cols;
    float sum = 0;
    for (long long c = threadIdx.x; c < cols; c += kThreads) {
        sum += from[c];
    }
    const float mean = block_sum(sum) / static_cast<float>(cols);
    float squares = 0;
    for (long long c = threadIdx.x; c < cols; c += kThreads) {
        squares += (from[c] - mean) * (from[c] - mean);
    }
    const float factor = 1 / sqrtf(block_sum(squares) / static_cast<float>(cols) + eps);
    for (long long c = threadIdx.x; c < cols; c += kThreads) {
        to[c] = (from[c] - mean) * factor * gamma[c] + beta[c];
    }
}
