// The widest vectors of this processor, and what keeps the compiler from seeing through a measurement.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace zoo {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

// A vector register full of values; the memory under it may hold any type.
template <class Value>
struct Lanes {
    typedef Value Vector __attribute__((vector_size(kVectorBytes), may_alias));
};

using Floats = Lanes<float>::Vector;
using Words = Lanes<std::uint64_t>::Vector;

// The compiler must take the value for one it can't know: it then folds nothing and merges no two chains.
template <class Value>
Value opaque(Value value) {
    asm volatile("" : "+m"(value));
    return value;
}

// The compiler must take the value for used: it then drops nothing that it is made of.
// It takes a copy: a vector whose own address were taken would live in memory, not in a register.
template <class Value>
void keep(Value value) {
    asm volatile("" : : "m"(value));
}

// The compiler must take all memory for read and changed here: each pass over it then happens.
inline void forget_memory() { asm volatile("" : : : "memory"); }

// Store past the caches, where there is an instruction for it; elsewhere the processor sees a stream by itself.
inline void stream(Floats* to, Floats value) {
#if defined(__AVX512F__)
    _mm512_stream_ps(reinterpret_cast<float*>(to), value);
#elif defined(__AVX__)
    _mm256_stream_ps(reinterpret_cast<float*>(to), value);
#elif defined(__x86_64__)
    _mm_stream_ps(reinterpret_cast<float*>(to), value);
#else
    *to = value;
#endif
}

inline void drain_streams() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace zoo
