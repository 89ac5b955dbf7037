namespace {

constexpr int kWarps = 4;
constexpr int kInFlight = 4;

__device__ float product(float a, float x) { return a * x; }

__device__ float product(float4 a, float4 x) { return (a.x * x.x + a.y * x.y) + (a.z * x.z + a.w * x.w); }

// This lane's part of the product of two vectors, which are read in parts of the size of `Part`.
template <class Part>
__device__ float lane_sum(const Part* __restrict__ row, const Part* __restrict__ x, int parts) {
    float sums[kInFlight] = {};
    int i = static_cast<int>(threadIdx.x) % 32;
    for (; i + 32 * (kInFlight - 1) < parts; i += 32 * kInFlight) {
        Part left[kInFlight];
#pragma unroll
        for (int part = 0; part < kInFlight; ++part) {
            left[part] = row[i + 32 * part];
        }
#pragma unroll
        for (int part = 0; part < kInFlight; ++part) {
            sums[part] += product(left[part], x[i + 32 * part]);
        }
    }
    for (; i < parts; i += 32) {
        sums[0] += product(row[i], x[i]);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    gemv(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m, int n) {
    const int row = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32);
    if (row >= m) {
        return;
    }
    const float* left = a + static_cast<long long>(row) * n;
    // Where the length is no multiple of four, most rows do not begin at a quad.
    float sum = n % 4 == 0 ? lane_sum(reinterpret_cast<const float4*>(left), reinterpret_cast<const float4*>(x), n / 4)
                           : lane_sum(left, x, n);
    for (int reach = 16; reach > 0; reach /= 2) {
        sum += __shfl_down_sync(0xffffffffU, sum, reach);
    }
    if (threadIdx.x % 32 == 0) {
        y[row] = sum;
    }
}
