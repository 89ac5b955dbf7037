#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

#if defined(__x86_64__)

#if defined(__AVX512F__)
using Lanes = __m512;
void stream(float* to, Lanes value) { _mm512_stream_ps(to, value); }
#elif defined(__AVX__)
using Lanes = __m256;
void stream(float* to, Lanes value) { _mm256_stream_ps(to, value); }
#else
using Lanes = __m128;
void stream(float* to, Lanes value) { _mm_stream_ps(to, value); }
#endif

constexpr std::int64_t kLanes = sizeof(Lanes) / sizeof(float);
constexpr std::int64_t kVectors = 8;
constexpr std::int64_t kGroup = kVectors * kLanes;

// Three vectors of this length (12 MiB) are more than a core's share of most caches: the output would not stay.
constexpr std::int64_t kStreamedFrom = std::int64_t{1} << 20;

Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }

// Whole groups past the caches; returns how many elements that were.
// A run of x, a run of y, a run of z: a tenth faster from memory than going round the three at each vector.
std::int64_t subtract_streaming(const float* x, const float* y, float* z, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + kGroup <= n; i += kGroup) {
        Lanes values[kVectors];
        for (std::int64_t v = 0; v < kVectors; ++v) {
            values[v] = load(x + i + v * kLanes);
        }
        for (std::int64_t v = 0; v < kVectors; ++v) {
            stream(z + i + v * kLanes, values[v] - load(y + i + v * kLanes));
        }
    }
    _mm_sfence();
    return i;
}

#endif

}  // namespace

// A streaming store does not read the line it overwrites: three streams through memory instead of four.
extern "C" void subtract(const float* __restrict x, const float* __restrict y, float* __restrict z, std::int64_t n) {
    std::int64_t done = 0;
#if defined(__x86_64__)
    if (n >= kStreamedFrom) {
        done = subtract_streaming(x, y, z, n);
    }
#endif
    for (std::int64_t i = done; i < n; ++i) {
        z[i] = x[i] - y[i];
    }
}
