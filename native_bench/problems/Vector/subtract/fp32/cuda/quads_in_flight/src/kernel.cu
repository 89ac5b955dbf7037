namespace {

constexpr int kThreads = 256;
constexpr int kQuads = 2;  // of each input, for each thread: all are asked for before the first is used

__device__ float value_of(float x, float y) { return x - y; }

__device__ float4 value_of(float4 x, float4 y) {
    return make_float4(value_of(x.x, y.x), value_of(x.y, y.y), value_of(x.z, y.z), value_of(x.w, y.w));
}

}  // namespace

// A block's quads lie side by side, so that each access of a warp is one run of 512 bytes.
extern "C" __global__ void __launch_bounds__(kThreads)
    subtract(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z, long long n) {
    const auto* x4 = reinterpret_cast<const float4*>(x);
    const auto* y4 = reinterpret_cast<const float4*>(y);
    auto* z4 = reinterpret_cast<float4*>(z);
    const long long first = static_cast<long long>(blockIdx.x) * (kThreads * kQuads) + threadIdx.x;
    const long long second = first + kThreads;
    if (second < n / 4) {
        const float4 x_first = x4[first];
        const float4 x_second = x4[second];
        const float4 y_first = y4[first];
        const float4 y_second = y4[second];
        z4[first] = value_of(x_first, y_first);
        z4[second] = value_of(x_second, y_second);
        return;
    }
    for (int quad = 0; quad < kQuads; ++quad) {
        const long long begin = 4 * (first + quad * kThreads);
        for (long long i = begin; i < begin + 4 && i < n; ++i) {
            z[i] = value_of(x[i], y[i]);
        }
    }
}
