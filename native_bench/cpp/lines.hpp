// Cache lines by hand, for the cold mode.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace zoo {

#if defined(__x86_64__)
[[gnu::target("clflushopt")]] inline void flush_line(const void* line) { _mm_clflushopt(const_cast<void*>(line)); }

// A flush is ordered by fences only.
inline void await_flushes() { _mm_mfence(); }
#elif defined(__aarch64__)
inline void flush_line(const void* line) { asm volatile("dc civac, %0" : : "r"(line) : "memory"); }

inline void await_flushes() { asm volatile("dsb sy" : : : "memory"); }
#endif

}  // namespace zoo
