extern "C" __global__ void divide(const float* x, const float* y, float* z, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        z[i] = x[i] / y[i];
    }
}
