// The one clock of the engine; it is read in the timer process only.
#pragma once

#include <chrono>
#include <cstdint>

namespace zoo {

inline std::uint64_t now_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// A moment by both clocks of the machine: the counter's ticks and the system's nanoseconds.
struct ClockPair {
    std::uint64_t ticks;
    std::uint64_t ns;
};

inline std::uint64_t ticks_now() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

// The best of many readings: a pause between the two clocks would show as a wrong frequency.
inline ClockPair read_clocks() {
    constexpr int readings = 200;
    ClockPair best{};
    std::uint64_t least_gap = ~std::uint64_t{0};
    for (int i = 0; i < readings; ++i) {
        const std::uint64_t before = ticks_now();
        const std::uint64_t ns = now_ns();
        const std::uint64_t gap = ticks_now() - before;
        if (gap < least_gap) {
            least_gap = gap;
            best = {before + gap / 2, ns};
        }
    }
    return best;
}

}  // namespace zoo
