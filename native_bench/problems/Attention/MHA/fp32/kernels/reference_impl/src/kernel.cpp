#include <cmath>
#include <cstdint>

namespace {

constexpr std::int64_t kMaxLength = 16384;

// One query against the first `keys` keys of its head.
void attend(const float* query, const float* k, const float* v, float* out, std::int64_t keys, std::int64_t dim) {
    float weights[kMaxLength];
    const float scale = 1 / std::sqrt(static_cast<float>(dim));
    float largest = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < dim; ++p) {
            sum += query[p] * k[j * dim + p];
        }
        weights[j] = sum * scale;
        largest = j == 0 || weights[j] > largest ? weights[j] : largest;
    }
    float total = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
        weights[j] = std::exp(weights[j] - largest);
        total += weights[j];
    }
    for (std::int64_t p = 0; p < dim; ++p) {
        out[p] = 0;
    }
    for (std::int64_t j = 0; j < keys; ++j) {
        for (std::int64_t p = 0; p < dim; ++p) {
            out[p] += weights[j] / total * v[j * dim + p];
        }
    }
}

}  // namespace

extern "C" void attention(const float* q, const float* k, const float* v, float* y, std::int64_t batch,
                          std::int64_t heads, std::int64_t length, std::int64_t dim, std::int64_t causal) {
    for (std::int64_t head = 0; head < batch * heads; ++head) {
        const std::int64_t base = head * length * dim;
        for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t keys = causal != 0 ? i + 1 : length;
            attend(q + base + i * dim, k + base, v + base, y + base + i * dim, keys, dim);
        }
    }
}
