#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::int64_t kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Bits = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

Lanes load(const float* from, std::int64_t count, float rest) {
    Lanes value = rest - Lanes{};
    std::memcpy(&value, from, static_cast<std::size_t>(count) * sizeof(float));
    return value;
}

Lanes load(const float* from) {
    Lanes value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// exp(x) for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial of degree 6 in r, then 2^n by its bits.
Lanes exp_of(Lanes x) {
    constexpr float least = -87.33F;
    const Bits is_tiny = x < least;
    x = is_tiny ? least - Lanes{} : x;
    constexpr float to_nearest = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    const Lanes shifted = x * 1.44269504088896341F + to_nearest;
    const Lanes n = shifted - to_nearest;
    const Lanes r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    Lanes p = r * 1.3888889e-3F + 8.3333333e-3F;
    p = p * r + 4.1666667e-2F;
    p = p * r + 1.6666667e-1F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    const Bits exponent = (__builtin_convertvector(n, Bits) + 127) << 23;
    Lanes power;
    std::memcpy(&power, &exponent, sizeof power);
    return is_tiny ? Lanes{} : p * power;
}

template <class Fold>
float fold(Lanes value, Fold with) {
    float result = value[0];
    for (std::int64_t lane = 1; lane < kLanes; ++lane) {
        result = with(result, value[lane]);
    }
    return result;
}

float largest_of(const float* in, std::int64_t cols) {
    Lanes largest = in[0] - Lanes{};
    std::int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
        const Lanes value = load(in + c);
        largest = value > largest ? value : largest;
    }
    const Lanes value = load(in + c, cols - c, in[0]);
    largest = value > largest ? value : largest;
    return fold(largest, [](float a, float b) { return std::max(a, b); });
}

}  // namespace

extern "C" void softmax(const float* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * cols;
        float* out = y + r * cols;
        const float largest = largest_of(in, cols);
        Lanes sums = {};
        std::int64_t c = 0;
        for (; c + kLanes <= cols; c += kLanes) {
            const Lanes power = exp_of(load(in + c) - largest);
            std::memcpy(out + c, &power, sizeof power);
            sums += power;
        }
        const Lanes rest = exp_of(load(in + c, cols - c, -1e30F) - largest);
        std::memcpy(out + c, &rest, static_cast<std::size_t>(cols - c) * sizeof(float));
        sums += rest;
        const float factor = 1 / fold(sums, [](float a, float b) { return a + b; });
        for (c = 0; c < cols; ++c) {
            out[c] *= factor;
        }
    }
}
