#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

// As many as one vector register holds: independent chains instead of one, in the order a compiler can vectorise.
#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

float largest_of(const float* in, std::int64_t cols) {
    Lanes lanes[2] = {in[0] - Lanes{}, in[0] - Lanes{}};
    std::int64_t c = 0;
    for (; c + 2 * kLanes <= cols; c += 2 * kLanes) {
        const Lanes first = load(in + c);
        const Lanes second = load(in + c + kLanes);
        lanes[0] = first > lanes[0] ? first : lanes[0];
        lanes[1] = second > lanes[1] ? second : lanes[1];
    }
    lanes[0] = lanes[1] > lanes[0] ? lanes[1] : lanes[0];
    float largest = lanes[0][0];
    for (std::int64_t lane = 1; lane < kLanes; ++lane) {
        largest = std::max(largest, lanes[0][lane]);
    }
    for (; c < cols; ++c) {
        largest = std::max(largest, in[c]);
    }
    return largest;
}

float sum_of(const float* in, std::int64_t cols) {
    Lanes lanes[2] = {};
    std::int64_t c = 0;
    for (; c + 2 * kLanes <= cols; c += 2 * kLanes) {
        lanes[0] += load(in + c);
        lanes[1] += load(in + c + kLanes);
    }
    lanes[0] += lanes[1];
    float sum = 0;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        sum += lanes[0][lane];
    }
    for (; c < cols; ++c) {
        sum += in[c];
    }
    return sum;
}

}  // namespace

extern "C" void softmax(const float* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * cols;
        float* out = y + r * cols;
        const float largest = largest_of(in, cols);
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c] = std::exp(in[c] - largest);
        }
        const float factor = 1 / sum_of(out, cols);
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c] *= factor;
        }
    }
}
