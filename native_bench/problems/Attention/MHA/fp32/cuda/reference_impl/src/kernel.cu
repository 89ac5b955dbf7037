namespace {

constexpr int kThreads = 128;

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

struct Maximum {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// The block's values folded to one by `combine`, in every thread.
template <class Combine>
__device__ float block_fold(float value, Combine combine) {
    __shared__ float values[kThreads];
    __syncthreads();
    values[threadIdx.x] = value;
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
        }
    }
    __syncthreads();
    return values[0];
}

}  // namespace

extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y, long long dim,
                                     long long causal) {
    extern __shared__ float weights[];
    const long long query = blockIdx.x;
    const long long length = gridDim.x;
    const long long head = (static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y) * length * dim;
    const long long keys = causal != 0 ? query + 1 : length;
    const float scale = 1 / sqrtf(static_cast<float>(dim));
    float largest = __int_as_float(0xff800000);  // minus infinity
    for (long long j = threadIdx.x; j < keys; j += kThreads) {
        float sum = 0;
        for (long long p = 0; p < dim; ++p) {
            sum += q[head + query * dim + p] * k[head + j * dim + p];
        }
        weights[j] = sum * scale;
        largest = fmaxf(largest, weights[j]);
    }
    largest = block_fold(largest, Maximum());
    float total = 0;
    for (long long j = threadIdx.x; j < keys; j += kThreads) {
        weights[j] = expf(weights[j] - largest);
        total += weights[j];
    }
    total = block_fold(total, Sum());
    for (long long p = threadIdx.x; p < dim; p += kThreads) {
        float sum = 0;
        for (long long j = 0; j < keys; ++j) {
            sum += weights[j] * v[head + j * dim + p];
        }
        y[head + query * dim + p] = sum / total;
    }
}
