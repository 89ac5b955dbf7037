#include <cmath>
#include <cstdint>

extern "C" void softmax(const float* x, float* y, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * cols;
        float* out = y + r * cols;
        float largest = in[0];
        for (std::int64_t c = 1; c < cols; ++c) {
            largest = in[c] > largest ? in[c] : largest;
        }
        float sum = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c] = std::exp(in[c] - largest);
            sum += out[c];
        }
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c] /= sum;
        }
    }
}
