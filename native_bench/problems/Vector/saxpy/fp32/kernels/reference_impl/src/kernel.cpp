#include <cstdint>

extern "C" void saxpy(const float* x, const float* y, float* z, float a, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        z[i] = a * x[i] + y[i];
    }
}
