extern "C" __global__ void transpose(const float* x, float* y, long long rows, long long cols) {
    const long long c = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long r = static_cast<long long>(blockIdx.y) * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) {
        y[c * rows + r] = x[r * cols + c];
    }
}
