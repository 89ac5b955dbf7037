#include <cstdint>

namespace {

// One vector is one register, never more: wider ones are taken apart and spilled.
#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

float sum_of(Lanes value) {
    float sum = 0;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        sum += value[lane];
    }
    return sum;
}

// Two sums per row: a fused multiplication and addition takes four cycles, and two may begin in each.
template <std::int64_t Rows>
void rows(const float* a, const float* x, float* y, std::int64_t n) {
    Lanes even[Rows] = {};
    Lanes odd[Rows] = {};
    std::int64_t j = 0;
    for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
        const Lanes first = load(x + j);
        const Lanes second = load(x + j + kLanes);
        for (std::int64_t r = 0; r < Rows; ++r) {
            even[r] += load(a + r * n + j) * first;
            odd[r] += load(a + r * n + j + kLanes) * second;
        }
    }
    for (std::int64_t r = 0; r < Rows; ++r) {
        float sum = sum_of(even[r] + odd[r]);
        for (std::int64_t rest = j; rest < n; ++rest) {
            sum += a[r * n + rest] * x[rest];
        }
        y[r] = sum;
    }
}

}  // namespace

extern "C" void gemv(const float* a, const float* x, float* y, std::int64_t m, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + 4 <= m; i += 4) {
        rows<4>(a + i * n, x, y + i, n);
    }
    for (; i < m; ++i) {
        rows<1>(a + i * n, x, y + i, n);
    }
}
