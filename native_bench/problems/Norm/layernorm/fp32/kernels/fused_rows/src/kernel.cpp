#include <cmath>
#include <cstdint>

namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#elif defined(__AVX2__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
// Rows begin anywhere: only the tensor is aligned.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

// An addition takes about four cycles and two can begin in each: eight sums in flight keep both adders busy.
constexpr std::int64_t kSums = 8;
constexpr std::int64_t kGroup = kSums * kLanes;

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

float folded(Lanes (&sums)[kSums]) {
    for (std::int64_t count = kSums / 2; count > 0; count /= 2) {
        for (std::int64_t s = 0; s < count; ++s) {
            sums[s] += sums[s + count];
        }
    }
    float lanes[kLanes];
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = sums[0][lane];
    }
    for (std::int64_t count = kLanes / 2; count > 0; count /= 2) {
        for (std::int64_t lane = 0; lane < count; ++lane) {
            lanes[lane] += lanes[lane + count];
        }
    }
    return lanes[0];
}

// The sum of `term` over a row; `term` takes a vector or one element.
template <class Term>
float sum_of(const float* row, std::int64_t cols, Term term) {
    Lanes sums[kSums] = {};
    std::int64_t c = 0;
    for (; c + kGroup <= cols; c += kGroup) {
        for (std::int64_t s = 0; s < kSums; ++s) {
            sums[s] += term(load(row + c + s * kLanes));
        }
    }
    for (; c + kLanes <= cols; c += kLanes) {
        sums[0] += term(load(row + c));
    }
    float total = folded(sums);
    for (; c < cols; ++c) {
        total += term(row[c]);
    }
    return total;
}

}  // namespace

extern "C" void layernorm(const float* __restrict x, const float* __restrict gamma, const float* __restrict beta,
                          float* __restrict y, float eps, std::int64_t rows, std::int64_t cols) {
    const float share = 1 / static_cast<float>(cols);
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * cols;
        float* out = y + r * cols;
        const float mean = share * sum_of(in, cols, [](auto value) { return value; });
        // Deviations, not squares of x minus the square of the mean: those lose all digits where the mean is large.
        const float variance = share * sum_of(in, cols, [mean](auto value) { return (value - mean) * (value - mean); });
        const float factor = 1 / std::sqrt(variance + eps);
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c] = (in[c] - mean) * factor * gamma[c] + beta[c];
        }
    }
}
