namespace {

constexpr int kThreads = 128;

}  // namespace

extern "C" __global__ void gemv(const float* a, const float* x, float* y, long long n) {
    __shared__ float sums[kThreads];
    const float* row = a + blockIdx.x * n;
    float sum = 0;
    for (long long j = threadIdx.x; j < n; j += kThreads) {
        sum += row[j] * x[j];
    }
    sums[threadIdx.x] = sum;
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sums[0];
    }
}
