#include <cstdint>

extern "C" void dot(const float* x, const float* y, float* z, std::int64_t n) {
    float total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        total += x[i] * y[i];
    }
    z[0] = total;
}
