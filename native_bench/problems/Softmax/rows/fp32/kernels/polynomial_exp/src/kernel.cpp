#include <algorithm>
#include <cstdint>

namespace {

// One vector is one register, never more: wider ones are taken apart and spilled.
#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));
using Bits = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

void store(float* to, Lanes value) { *reinterpret_cast<Unaligned*>(to) = value; }

// exp(x) for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial of degree 6 in r, then 2^n by its bits.
Lanes exp_of(Lanes x) {
    constexpr float least = -87.336544F;  // ln 2^-126: below it the result is no normal number
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
    return is_tiny ? Lanes{} : p * reinterpret_cast<Lanes>(exponent);
}

template <class Fold>
float fold(Lanes value, Fold with) {
    float result = value[0];
    for (std::int64_t lane = 1; lane < kLanes; ++lane) {
        result = with(result, value[lane]);
    }
    return result;
}

// Less than a vector of a row, filled up with a value that changes nothing.
Lanes load_tail(const float* from, std::int64_t count, float rest) {
    float values[kLanes];
    std::fill(values, values + kLanes, rest);
    std::copy(from, from + count, values);
    return load(values);
}

void store_tail(float* to, std::int64_t count, Lanes value) {
    float values[kLanes];
    store(values, value);
    std::copy(values, values + count, to);
}

float largest_of(const float* in, std::int64_t cols) {
    Lanes largest = in[0] - Lanes{};
    std::int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
        const Lanes value = load(in + c);
        largest = value > largest ? value : largest;
    }
    const Lanes value = load_tail(in + c, cols - c, in[0]);
    largest = value > largest ? value : largest;
    return fold(largest, [](float a, float b) { return std::max(a, b); });
}

// Leaves exp(in - largest) in `out` and returns the sum.
float exponentials(const float* __restrict in, float* __restrict out, std::int64_t cols, float largest) {
    Lanes sum = {};
    std::int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
        const Lanes power = exp_of(load(in + c) - largest);
        store(out + c, power);
        sum += power;
    }
    if (c < cols) {
        const Lanes power = exp_of(load_tail(in + c, cols - c, -1e30F) - largest);
        store_tail(out + c, cols - c, power);
        sum += power;
    }
    return fold(sum, [](float a, float b) { return a + b; });
}

}  // namespace

extern "C" void softmax(const float* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * cols;
        float* out = y + r * cols;
        const float factor = 1 / exponentials(in, out, cols, largest_of(in, cols));
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c] *= factor;
        }
    }
}
