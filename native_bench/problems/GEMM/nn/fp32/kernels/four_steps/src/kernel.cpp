#include <algorithm>
#include <cstdint>

namespace {

constexpr std::int64_t kDepth = 16;  // so many rows of b stay in the first-level cache while all of a passes by

// Four products for each of two rows of c: eight factors, four of b and two of c fill sixteen registers, and each
// element of b that was loaded counts twice. Left to the compiler to vectorise.
void four_steps_of_two_rows(const float* __restrict a, const float* __restrict b, float* __restrict c,
                            std::int64_t n, std::int64_t k) {
    const float* below = a + k;
    float* c_below = c + n;
    for (std::int64_t j = 0; j < n; ++j) {
        const float b0 = b[j];
        const float b1 = b[n + j];
        const float b2 = b[2 * n + j];
        const float b3 = b[3 * n + j];
        c[j] += a[0] * b0 + a[1] * b1 + a[2] * b2 + a[3] * b3;
        c_below[j] += below[0] * b0 + below[1] * b1 + below[2] * b2 + below[3] * b3;
    }
}

void one_step(float factor, const float* __restrict b, float* __restrict c, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
        c[j] += factor * b[j];
    }
}

}  // namespace

extern "C" void gemm(const float* __restrict a, const float* __restrict b, float* __restrict c, std::int64_t m,
                     std::int64_t n, std::int64_t k) {
    std::fill(c, c + m * n, 0.0F);
    const std::int64_t paired = m / 2 * 2;
    const std::int64_t whole = k / 4 * 4;
    for (std::int64_t block = 0; block < whole; block += kDepth) {
        for (std::int64_t i = 0; i < paired; i += 2) {
            for (std::int64_t p = block; p < std::min(block + kDepth, whole); p += 4) {
                four_steps_of_two_rows(a + i * k + p, b + p * n, c + i * n, n, k);
            }
        }
    }
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t p = i < paired ? whole : 0; p < k; ++p) {
            one_step(a[i * k + p], b + p * n, c + i * n, n);
        }
    }
}
