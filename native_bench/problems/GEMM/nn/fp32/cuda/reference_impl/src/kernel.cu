extern "C" __global__ void gemm(const float* a, const float* b, float* c, long long m, long long n, long long k) {
    const long long row = static_cast<long long>(blockIdx.y) * blockDim.y + threadIdx.y;
    const long long col = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) {
        return;
    }
    float sum = 0;
    for (long long p = 0; p < k; ++p) {
        sum += a[row * k + p] * b[p * n + col];
    }
    c[row * n + col] = sum;
}
