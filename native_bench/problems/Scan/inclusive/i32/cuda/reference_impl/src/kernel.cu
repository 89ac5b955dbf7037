namespace {

constexpr int kThreads = 256;

// Unsigned, so that a sum over part of the vector may wrap: the prefixes come out right all the same.
// The sum of the values of this thread and those before it in the block; `sums` holds every thread's.
__device__ unsigned block_scan(unsigned value, unsigned* sums) {
    sums[threadIdx.x] = value;
    for (int reach = 1; reach < kThreads; reach *= 2) {
        __syncthreads();
        const unsigned before = threadIdx.x >= reach ? sums[threadIdx.x - reach] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
    }
    __syncthreads();
    return sums[threadIdx.x];
}

}  // namespace

extern "C" __global__ void scan_blocks(const unsigned* x, unsigned* y, unsigned* sums, long long n) {
    __shared__ unsigned shared[kThreads];
    const long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
    const unsigned sum = block_scan(i < n ? x[i] : 0, shared);
    if (i < n) {
        y[i] = sum;
    }
    if (threadIdx.x == kThreads - 1) {
        sums[blockIdx.x] = sum;
    }
}

// One block, in place.
extern "C" __global__ void scan_sums(unsigned* sums, int count) {
    __shared__ unsigned shared[kThreads];
    unsigned carry = 0;
    for (int begin = 0; begin < count; begin += kThreads) {
        const int i = begin + static_cast<int>(threadIdx.x);
        const unsigned sum = carry + block_scan(i < count ? sums[i] : 0, shared);
        if (i < count) {
            sums[i] = sum;
        }
        carry += shared[kThreads - 1];
        __syncthreads();
    }
}

extern "C" __global__ void add_sums(unsigned* y, const unsigned* sums, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
    if (blockIdx.x > 0 && i < n) {
        y[i] += sums[blockIdx.x - 1];
    }
}
