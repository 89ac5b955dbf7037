// The one clock of the engine; it is read in the timer process only.
#pragma once

#include <chrono>
#include <cstdint>

namespace zoo {

inline std::uint64_t now_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace zoo
