namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kRows = 2;  // of 32 quads, for each warp in each tile
constexpr int kTile = kWarps * kRows * 128;

// Where this thread's first quad lies in the tile; its next one lies 128 elements on.
__device__ int place() {
    return static_cast<int>(threadIdx.x / 32 * (kRows * 128) + threadIdx.x % 32 * 4);
}

__device__ uint4 load_quad(const unsigned* x, long long at, long long n) {
    if (at + 4 <= n) {
        return *reinterpret_cast<const uint4*>(x + at);
    }
    return make_uint4(at < n ? x[at] : 0, at + 1 < n ? x[at + 1] : 0, at + 2 < n ? x[at + 2] : 0, 0);
}

__device__ void store_quad(unsigned* y, long long at, long long n, uint4 value) {
    if (at + 4 <= n) {
        *reinterpret_cast<uint4*>(y + at) = value;
        return;
    }
    const unsigned values[3] = {value.x, value.y, value.z};
    for (int i = 0; i < 3 && at + i < n; ++i) {
        y[at + i] = values[i];
    }
}

// The sum over the block, in every thread. Sums may wrap where they are not prefixes: hence unsigned.
__device__ unsigned block_sum(unsigned value) {
    __shared__ unsigned sums[kWarps];
    for (int reach = 16; reach > 0; reach /= 2) {
        value += __shfl_xor_sync(0xffffffffU, value, reach);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    unsigned sum = 0;
    for (const unsigned part : sums) {
        sum += part;
    }
    return sum;
}

// The sum of the values of this lane and those before it.
__device__ unsigned warp_scan(unsigned value) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned reach = 1; reach < 32; reach *= 2) {
        const unsigned before = __shfl_up_sync(0xffffffffU, value, reach);
        value += lane >= reach ? before : 0;
    }
    return value;
}

// The warp's rows turned into the prefix sums over its part of the tile; returns their total.
__device__ unsigned scan_rows(uint4 (&rows)[kRows]) {
    unsigned through[kRows];
    for (int row = 0; row < kRows; ++row) {
        uint4& quad = rows[row];
        quad.y += quad.x;
        quad.z += quad.y;
        quad.w += quad.z;
        through[row] = warp_scan(quad.w);
    }
    unsigned total = 0;
    for (int row = 0; row < kRows; ++row) {
        uint4& quad = rows[row];
        const unsigned before = total + through[row] - quad.w;
        quad = make_uint4(quad.x + before, quad.y + before, quad.z + before, quad.w + before);
        total += __shfl_sync(0xffffffffU, through[row], 31);
    }
    return total;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    sum_chunks(const unsigned* __restrict__ x, unsigned* __restrict__ sums, long long n, int tiles) {
    const long long chunk = static_cast<long long>(blockIdx.x) * tiles * kTile;
    unsigned sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
            const long long at = chunk + static_cast<long long>(tile) * kTile + place() + row * 128;
            const uint4 quad = load_quad(x, at, n);
            sum += quad.x + quad.y + quad.z + quad.w;
        }
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_chunks(const unsigned* __restrict__ x, const unsigned* __restrict__ sums, unsigned* __restrict__ y,
                long long n, int tiles) {
    // Two of each, in turn: a fast warp may begin the next tile while a slow one reads this one's totals.
    __shared__ unsigned totals[2][kWarps];
    const unsigned warp = threadIdx.x / 32;
    const long long chunk = static_cast<long long>(blockIdx.x) * tiles * kTile;
    unsigned carry = 0;
    for (unsigned i = threadIdx.x; i < blockIdx.x; i += kThreads) {
        carry += sums[i];
    }
    carry = block_sum(carry);
    for (int tile = 0; tile < tiles; ++tile) {
        const long long first = chunk + static_cast<long long>(tile) * kTile + place();
        uint4 rows[kRows];
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
            rows[row] = load_quad(x, first + row * 128, n);
        }
        const unsigned total = scan_rows(rows);
        if (threadIdx.x % 32 == 0) {
            totals[tile % 2][warp] = total;
        }
        __syncthreads();
        unsigned before = carry;
        for (unsigned other = 0; other < kWarps; ++other) {
            before += other < warp ? totals[tile % 2][other] : 0;
            carry += totals[tile % 2][other];
        }
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
            const uint4 quad = rows[row];
            const uint4 prefixes = make_uint4(quad.x + before, quad.y + before, quad.z + before, quad.w + before);
            store_quad(y, first + row * 128, n, prefixes);
        }
    }
}
