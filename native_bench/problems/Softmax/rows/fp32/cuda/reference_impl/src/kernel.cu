namespace {

constexpr int kThreads = 256;

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

extern "C" __global__ void softmax(const float* x, float* y, long long cols) {
    const float* from = x + blockIdx.x * cols;
    float* to = y + blockIdx.x * cols;
    float largest = from[0];
    for (long long c = threadIdx.x; c < cols; c += kThreads) {
        largest = fmaxf(largest, from[c]);
    }
    largest = block_fold(largest, Maximum());
    float sum = 0;
    for (long long c = threadIdx.x; c < cols; c += kThreads) {
        const float power = expf(from[c] - largest);
        to[c] = power;
        sum += power;
    }
    sum = block_fold(sum, Sum());
    for (long long c = threadIdx.x; c < cols; c += kThreads) {
        to[c] /= sum;
    }
}
