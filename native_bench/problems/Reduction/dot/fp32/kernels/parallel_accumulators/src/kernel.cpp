#include <cstdint>

namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#elif defined(__AVX2__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), may_alias));

// A fused multiply-add takes four cycles and two can begin in each: eight sums in flight keep both units busy.
constexpr std::int64_t kSums = 8;
constexpr std::int64_t kGroup = kSums * kLanes;

// Tensors are 64-byte aligned by contract, and so are the groups.
Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }

// Halves onto halves: the order in which rounding errors grow least.
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

}  // namespace

extern "C" void dot(const float* x, const float* y, float* z, std::int64_t n) {
    Lanes sums[kSums] = {};
    std::int64_t i = 0;
    for (; i + kGroup <= n; i += kGroup) {
        for (std::int64_t s = 0; s < kSums; ++s) {
            sums[s] += load(x + i + s * kLanes) * load(y + i + s * kLanes);
        }
    }
    for (; i + kLanes <= n; i += kLanes) {
        sums[0] += load(x + i) * load(y + i);
    }
    float total = folded(sums);
    for (; i < n; ++i) {
        total += x[i] * y[i];
    }
    z[0] = total;
}
