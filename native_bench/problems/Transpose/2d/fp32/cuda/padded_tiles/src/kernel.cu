namespace {

constexpr int kTile = 32;

// Four elements, of which `count` are there; the rest is zero.
__device__ float4 load_quad(const float* from, int count, bool is_aligned) {
    if (is_aligned && count >= 4) {
        return *reinterpret_cast<const float4*>(from);
    }
    return make_float4(count > 0 ? from[0] : 0, count > 1 ? from[1] : 0, count > 2 ? from[2] : 0,
                       count > 3 ? from[3] : 0);
}

__device__ void store_quad(float* to, int count, bool is_aligned, float4 value) {
    if (is_aligned && count >= 4) {
        *reinterpret_cast<float4*>(to) = value;
        return;
    }
    const float values[4] = {value.x, value.y, value.z, value.w};
    for (int i = 0; i < 4 && i < count; ++i) {
        to[i] = values[i];
    }
}

}  // namespace

// Each thread moves one quad into the tile and another out of it. With rows of 33 words the 32 lanes of a warp meet 32
// different banks both ways.
extern "C" __global__ void __launch_bounds__(256)
    transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    __shared__ float tile[kTile][kTile + 1];
    const int line = static_cast<int>(threadIdx.x) / 8;
    const int quad = static_cast<int>(threadIdx.x) % 8 * 4;
    const int row = static_cast<int>(blockIdx.y) * kTile;
    const int col = static_cast<int>(blockIdx.x) * kTile;
    const long long from = static_cast<long long>(row + line) * cols + col + quad;
    const int there = row + line < rows ? cols - col - quad : 0;
    const float4 moved = load_quad(x + from, there, cols % 4 == 0);
    tile[line][quad] = moved.x;
    tile[line][quad + 1] = moved.y;
    tile[line][quad + 2] = moved.z;
    tile[line][quad + 3] = moved.w;
    __syncthreads();
    if (col + line < cols && row + quad < rows) {
        const long long to = static_cast<long long>(col + line) * rows + row + quad;
        const float4 turned =
            make_float4(tile[quad][line], tile[quad + 1][line], tile[quad + 2][line], tile[quad + 3][line]);
        store_quad(y + to, rows - row - quad, rows % 4 == 0, turned);
    }
}
