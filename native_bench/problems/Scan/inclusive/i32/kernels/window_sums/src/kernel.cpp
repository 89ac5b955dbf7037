#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
// Unsigned: the sum over a window may leave the range even where no prefix sum does, and must wrap.
using Lanes = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t)), may_alias));

Lanes load(const std::int32_t* from) {
    Lanes value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// The lanes that begin `By` before `now`: the end of the vector before it, then `now` itself.
template <int By, int... I>
Lanes earlier(Lanes before, Lanes now, std::integer_sequence<int, I...>) {
    return __builtin_shuffle(before, now, Lanes{(kLanes - By + I)...});
}

template <int By>
Lanes earlier(Lanes before, Lanes now) {
    return earlier<By>(before, now, std::make_integer_sequence<int, kLanes>{});
}

// At each lane the sum over the last 2, 4, 8, 16 elements, as far as a vector reaches.
struct Windows {
    Lanes of2 = {};
    Lanes of4 = {};
    Lanes of8 = {};

    // Returns the sums over the last `kLanes` elements; `from` must have one element before it.
    Lanes advance(const std::int32_t* from) {
        const Lanes now2 = load(from) + load(from - 1);
        const Lanes now4 = now2 + earlier<2>(std::exchange(of2, now2), now2);
        if constexpr (kLanes == 4) {
            return now4;
        } else {
            const Lanes now8 = now4 + earlier<4>(std::exchange(of4, now4), now4);
            if constexpr (kLanes == 8) {
                return now8;
            } else {
                return now8 + earlier<8>(std::exchange(of8, now8), now8);
            }
        }
    }
};

}  // namespace

// y[i] = y[i - kLanes] + the sum over the last kLanes elements: the chain from vector to vector is one addition.
extern "C" void inclusive_scan(const std::int32_t* __restrict x, std::int32_t* __restrict y, std::int64_t n) {
    std::int32_t head[1 + kLanes] = {};  // the first vector again, with a zero before it
    std::copy_n(x, std::min<std::int64_t>(n, kLanes), head + 1);
    Windows windows;
    Lanes sums = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        sums += windows.advance(i == 0 ? head + 1 : x + i);
        std::memcpy(y + i, &sums, sizeof sums);
    }
    std::uint32_t sum = sums[kLanes - 1];
    for (; i < n; ++i) {
        sum += static_cast<std::uint32_t>(x[i]);
        y[i] = static_cast<std::int32_t>(sum);
    }
}
