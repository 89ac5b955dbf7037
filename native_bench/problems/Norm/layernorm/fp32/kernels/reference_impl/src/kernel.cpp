#include <cmath>
#include <cstdint>

extern "C" void layernorm(const float* x, const float* gamma, const float* beta, float* y, float eps,
                          std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * cols;
        float* out = y + r * cols;
        float sum = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
            sum += in[c];
        }
        const float mean = sum / static_cast<float>(cols);
        float squares = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
            squares += (in[c] - mean) * (in[c] - mean);
        }
        const float root = std::sqrt(squares / static_cast<float>(cols) + eps);
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c] = (in[c] - mean) / root * gamma[c] + beta[c];
        }
    }
}
