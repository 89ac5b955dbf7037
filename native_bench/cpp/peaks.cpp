#include "peaks.hpp"

#include "lanes.hpp"

namespace zoo {
namespace {

// Independent chains, so that no unit waits for its own result: four cycles on each of two to four units.
// Where there are but 16 registers, some are left for the factors.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr std::size_t kChains = 24;
#else
constexpr std::size_t kChains = 12;
#endif
constexpr std::size_t kTurns = std::size_t{1} << 15U;

// chain * 1/2 + 1/2 stays at 1 (and an integer's 0 * 0 + 0 takes what any other takes):
// never a subnormal, never an infinity.
template <class Value>
struct MultiplyAdd {
    using Vector = typename Lanes<Value>::Vector;
    static constexpr std::size_t kOperations = 2 * kVectorBytes / sizeof(Value);

    Vector factor = opaque(Vector{} + static_cast<Value>(0.5F));
    Vector term = opaque(Vector{} + static_cast<Value>(0.5F));

    [[nodiscard]] Vector start() const { return factor + term; }
    [[nodiscard]] Vector step(const Vector& chain) const { return chain * factor + term; }
};

template <class Value>
struct Add {
    using Vector = typename Lanes<Value>::Vector;
    static constexpr std::size_t kOperations = kVectorBytes / sizeof(Value);

    Vector term = opaque(Vector{});

    [[nodiscard]] Vector start() const { return term; }
    [[nodiscard]] Vector step(const Vector& chain) const { return chain + term; }
};

// Additions alone would become one multiplication; an exclusive or takes what an addition takes.
struct I32Add {
    using Vector = Lanes<std::uint32_t>::Vector;
    static constexpr std::size_t kOperations = 2 * kVectorBytes / sizeof(std::uint32_t);

    Vector term = opaque(Vector{});
    Vector mask = opaque(Vector{});

    [[nodiscard]] Vector start() const { return term; }
    [[nodiscard]] Vector step(const Vector& chain) const { return (chain + term) ^ mask; }
};

// Sums of products of narrow values, in lanes of 32 bits, by one instruction.
#if defined(__AVX512VNNI__)
#define ZOO_I8_DOT "vpdpbusd %2, %1, %0"
#elif defined(__AVXVNNI__)
#define ZOO_I8_DOT "%{vex%} vpdpbusd %2, %1, %0"
#elif defined(__ARM_FEATURE_DOTPROD)
#define ZOO_I8_DOT "sdot %0.4s, %1.16b, %2.16b"
#endif

#if defined(__AVX512BF16__)
#define ZOO_BF16_DOT "vdpbf16ps %2, %1, %0"
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define ZOO_BF16_DOT "bfdot %0.4s, %1.8h, %2.8h"
#endif

#if defined(__aarch64__)
#define ZOO_VECTOR "w"
#else
#define ZOO_VECTOR "v"
#endif

template <std::size_t kBytesPerProduct>
struct Dot {
    static constexpr std::size_t kOperations = 2 * kVectorBytes / kBytesPerProduct;

    Words left = opaque(Words{});
    Words right = opaque(Words{});

    [[nodiscard]] Words start() const { return left; }
};

#if defined(ZOO_I8_DOT)
struct I8Dot : Dot<1> {
    [[nodiscard]] Words step(Words chain) const {
        asm(ZOO_I8_DOT : "+" ZOO_VECTOR(chain) : ZOO_VECTOR(left), ZOO_VECTOR(right));
        return chain;
    }
};
#endif

#if defined(ZOO_BF16_DOT)
struct Bf16Dot : Dot<2> {
    [[nodiscard]] Words step(Words chain) const {
        asm(ZOO_BF16_DOT : "+" ZOO_VECTOR(chain) : ZOO_VECTOR(left), ZOO_VECTOR(right));
        return chain;
    }
};
#endif

template <class Unit>
void run_chains(std::byte* /*memory*/, std::size_t turns) {
    const Unit unit;
    decltype(unit.start()) chains[kChains];
    for (auto& chain : chains) {
        chain = opaque(unit.start());
    }
    for (std::size_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 32
        for (std::size_t i = 0; i < kChains; ++i) {
            chains[i] = unit.step(chains[i]);
        }
    }
    for (const auto& chain : chains) {
        keep(chain);
    }
}

template <class Unit>
Figure figure_of(const char* name) {
    const auto operations = static_cast<double>(kTurns * kChains * Unit::kOperations);
    return {name, run_chains<Unit>, nullptr, kTurns, 1, operations};
}

}  // namespace

std::vector<Figure> peak_figures() {
    return {
        figure_of<MultiplyAdd<double>>("fp64_fma"),
        figure_of<MultiplyAdd<float>>("fp32_fma"),
        figure_of<Add<double>>("fp64_add"),
        figure_of<Add<float>>("fp32_add"),
        figure_of<I32Add>("i32_add"),
#if defined(__AVX512FP16__)
        figure_of<MultiplyAdd<_Float16>>("fp16_fma"),
#elif defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
        figure_of<MultiplyAdd<__fp16>>("fp16_fma"),
#endif
#if defined(ZOO_BF16_DOT)
        figure_of<Bf16Dot>("bf16_dot"),
#endif
#if defined(__SSE4_1__) || defined(__aarch64__)
        figure_of<MultiplyAdd<std::uint32_t>>("i32_mad"),
#endif
#if defined(ZOO_I8_DOT)
        figure_of<I8Dot>("i8_dot"),
#endif
    };
}

}  // namespace zoo
