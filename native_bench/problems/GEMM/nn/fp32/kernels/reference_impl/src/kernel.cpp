#include <cstdint>

extern "C" void gemm(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k) {
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            c[i * n + j] = 0;
        }
        for (std::int64_t p = 0; p < k; ++p) {
            const float factor = a[i * k + p];
            for (std::int64_t j = 0; j < n; ++j) {
                c[i * n + j] += factor * b[p * n + j];
            }
        }
    }
}
