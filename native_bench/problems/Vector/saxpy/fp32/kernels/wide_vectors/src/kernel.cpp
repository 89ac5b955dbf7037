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
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), may_alias));

}  // namespace

// Tensors are 64-byte aligned and disjoint by contract.
extern "C" void saxpy(const float* __restrict x, const float* __restrict y, float* __restrict z, float a,
                      std::int64_t n) {
    const auto* vx = reinterpret_cast<const Lanes*>(x);
    const auto* vy = reinterpret_cast<const Lanes*>(y);
    auto* vz = reinterpret_cast<Lanes*>(z);
    const std::int64_t whole = n / kLanes;
    std::int64_t i = 0;
    for (; i + 4 <= whole; i += 4) {
        const Lanes first = a * vx[i] + vy[i];
        const Lanes second = a * vx[i + 1] + vy[i + 1];
        const Lanes third = a * vx[i + 2] + vy[i + 2];
        const Lanes fourth = a * vx[i + 3] + vy[i + 3];
        vz[i] = first;
        vz[i + 1] = second;
        vz[i + 2] = third;
        vz[i + 3] = fourth;
    }
    for (; i < whole; ++i) {
        vz[i] = a * vx[i] + vy[i];
    }
    for (std::int64_t j = whole * kLanes; j < n; ++j) {
        z[j] = a * x[j] + y[j];
    }
}
