#include <algorithm>
#include <cstdint>

extern "C" void gemm(const float* __restrict a, const float* __restrict b, float* __restrict c, std::int64_t m,
                     std::int64_t n, std::int64_t k) {
    for (std::int64_t i = 0; i < m; ++i) {
        float* row = c + i * n;
        std::fill(row, row + n, 0.0F);
        std::int64_t p = 0;
        for (; p + 4 <= k; p += 4) {
            const float* factors = a + i * k + p;
            const float* b0 = b + p * n;
            const float* b1 = b0 + n;
            const float* b2 = b1 + n;
            const float* b3 = b2 + n;
            for (std::int64_t j = 0; j < n; ++j) {
                row[j] += factors[0] * b0[j] + factors[1] * b1[j] + factors[2] * b2[j] + factors[3] * b3[j];
            }
        }
        for (; p < k; ++p) {
            const float factor = a[i * k + p];
            for (std::int64_t j = 0; j < n; ++j) {
                row[j] += factor * b[p * n + j];
            }
        }
    }
}
