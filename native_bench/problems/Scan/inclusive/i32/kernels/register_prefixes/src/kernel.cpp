#include <cstdint>
#include <utility>

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
// Unsigned: a sum that begins inside may leave the range even where no prefix sum does, and must wrap.
using Lanes = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t)), may_alias));

constexpr int kQuad = 4;  // lanes of 128 bits: within them a shuffle takes one cycle, across them three
constexpr int kVectors = 4;
constexpr int kGroup = kVectors * kLanes;

// Lane i of the result is lane `From::lane(i)` of the value, or 0 where that is negative.
template <class From, int... I>
Lanes shuffled(Lanes value, std::integer_sequence<int, I...>) {
    // The zero of the same place, not any zero: compilers know that form as one unpack or shift.
    return __builtin_shuffle(value, Lanes{}, Lanes{(From::lane(I) < 0 ? kLanes + I : From::lane(I))...});
}

template <class From>
Lanes shuffled(Lanes value) {
    return shuffled<From>(value, std::make_integer_sequence<int, kLanes>{});
}

template <int By>
struct EarlierInQuad {
    static constexpr int lane(int i) { return i % kQuad >= By ? i - By : -1; }
};

template <int Quads>
struct EarlierQuad {
    static constexpr int lane(int i) { return i - Quads * kQuad; }
};

struct LastOfQuad {
    static constexpr int lane(int i) { return i / kQuad * kQuad + kQuad - 1; }
};

struct LastQuad {
    static constexpr int lane(int i) { return kLanes - kQuad + i % kQuad; }
};

Lanes prefixes_in_quads(Lanes value) {
    value += shuffled<EarlierInQuad<1>>(value);
    return value + shuffled<EarlierInQuad<2>>(value);
}

// The totals of the quads up to and with a lane's own.
Lanes prefixes_of_quads(Lanes totals) {
    if constexpr (kLanes >= 8) {
        totals += shuffled<EarlierQuad<1>>(totals);
    }
    if constexpr (kLanes >= 16) {
        totals += shuffled<EarlierQuad<2>>(totals);
    }
    return totals;
}

}  // namespace

// Of all this only the carry's one addition waits for the vector before.
extern "C" void inclusive_scan(const std::int32_t* __restrict x, std::int32_t* __restrict y, std::int64_t n) {
    Lanes carry = {};
    std::int64_t i = 0;
    for (; i + kGroup <= n; i += kGroup) {
        for (int v = 0; v < kVectors; ++v) {
            const Lanes own = prefixes_in_quads(*reinterpret_cast<const Lanes*>(x + i + v * kLanes));
            const Lanes totals = shuffled<LastOfQuad>(own);
            const Lanes up_to = prefixes_of_quads(totals);
            *reinterpret_cast<Lanes*>(y + i + v * kLanes) = own + (up_to - totals) + carry;
            carry += shuffled<LastQuad>(up_to);
        }
    }
    std::uint32_t sum = carry[0];
    for (; i < n; ++i) {
        sum += static_cast<std::uint32_t>(x[i]);
        y[i] = static_cast<std::int32_t>(sum);
    }
}
