#include <algorithm>
#include <cstdint>
#include <utility>

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));
using Places = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

constexpr std::int64_t kTile = 64;

// The row of the pair (a, b) that keeps the lanes of its own side and takes the other row's for the other side.
template <int Bit, bool IsUpper, int... I>
Lanes exchanged(Lanes a, Lanes b, std::integer_sequence<int, I...>) {
    constexpr int from_a = IsUpper ? Bit : 0;
    constexpr int from_b = kLanes - (IsUpper ? 0 : Bit);
    return __builtin_shuffle(a, b, Places{((I & Bit) == 0 ? I + from_a : I + from_b)...});
}

// One bit of the row's number and the same bit of the lane's change places; once all have, rows are columns.
// Unrolled, or the block would live on the stack: four times slower.
template <int Bit>
void exchange(Lanes (&block)[kLanes]) {
    constexpr auto lanes = std::make_integer_sequence<int, kLanes>{};
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row) {
        if ((row & Bit) == 0) {
            const Lanes a = block[row];
            const Lanes b = block[row + Bit];
            block[row] = exchanged<Bit, false>(a, b, lanes);
            block[row + Bit] = exchanged<Bit, true>(a, b, lanes);
        }
    }
}

// Strides in elements.
void transpose_block(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
    Lanes block[kLanes];
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row) {
        block[row] = *reinterpret_cast<const Unaligned*>(from + row * from_stride);
    }
    exchange<1>(block);
    exchange<2>(block);
    if constexpr (kLanes >= 8) {
        exchange<4>(block);
    }
    if constexpr (kLanes >= 16) {
        exchange<8>(block);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row) {
        *reinterpret_cast<Unaligned*>(to + row * to_stride) = block[row];
    }
}

// What no whole block covers.
void transpose_edge(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t rows,
                    std::int64_t cols) {
    for (std::int64_t c = 0; c < cols; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
            to[c * to_stride + r] = from[r * from_stride + c];
        }
    }
}

// Down the columns: a line of the output is filled by blocks that follow each other.
void transpose_tile(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t rows,
                    std::int64_t cols) {
    std::int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
        std::int64_t r = 0;
        for (; r + kLanes <= rows; r += kLanes) {
            transpose_block(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
        }
        transpose_edge(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride, rows - r, kLanes);
    }
    transpose_edge(from + c, from_stride, to + c * to_stride, to_stride, rows, cols - c);
}

}  // namespace

extern "C" void transpose(const float* x, float* y, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; r += kTile) {
        for (std::int64_t c = 0; c < cols; c += kTile) {
            transpose_tile(x + r * cols + c, cols, y + c * rows + r, rows, std::min(kTile, rows - r),
                           std::min(kTile, cols - c));
        }
    }
}
