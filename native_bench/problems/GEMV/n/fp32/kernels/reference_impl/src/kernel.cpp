#include <cstdint>

extern "C" void gemv(const float* a, const float* x, float* y, std::int64_t m, std::int64_t n) {
    for (std::int64_t i = 0; i < m; ++i) {
        float sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            sum += a[i * n + j] * x[j];
        }
        y[i] = sum;
    }
}
