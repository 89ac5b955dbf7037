#include <cstdint>

extern "C" void inclusive_scan(const std::int32_t* x, std::int32_t* y, std::int64_t n) {
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        sum += x[i];
        y[i] = sum;
    }
}
