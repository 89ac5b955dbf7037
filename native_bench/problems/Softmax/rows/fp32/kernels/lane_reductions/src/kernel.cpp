#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

constexpr std::int64_t kLanes = 16;

float largest_of(const float* in, std::int64_t cols) {
    float lanes[kLanes];
    std::fill(lanes, lanes + kLanes, in[0]);
    std::int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] = in[c + lane] > lanes[lane] ? in[c + lane] : lanes[lane];
        }
    }
    for (; c < cols; ++c) {
        lanes[0] = in[c] > lanes[0] ? in[c] : lanes[0];
    }
    return *std::max_element(lanes, lanes + kLanes);
}

float sum_of(const float* in, std::int64_t cols) {
    float lanes[kLanes] = {};
    std::int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += in[c + lane];
        }
    }
    for (; c < cols; ++c) {
        lanes[0] += in[c];
    }
    float sum = 0;
    for (const float lane : lanes) {
        sum += lane;
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
