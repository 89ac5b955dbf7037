// One rate that is to be found: some work, how much of it there is, and the least time it has taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "clock.hpp"
#include "lanes.hpp"

namespace zoo {

// One pass of the work: `count` vectors in each array at `memory`, or `count` turns where it needs no memory.
using Pass = void (*)(std::byte* memory, std::size_t count);

struct Figure {
    std::string name;
    Pass pass;
    std::byte* memory;
    std::size_t count;
    std::size_t passes;  // in one repetition
    double amount;       // bytes or operations in one repetition
    std::uint64_t least_ns = UINT64_MAX;

    void repeat() {
        const std::uint64_t begin = now_ns();
        for (std::size_t i = 0; i < passes; ++i) {
            pass(memory, count);
            forget_memory();
        }
        drain_streams();
        least_ns = std::min(least_ns, std::max<std::uint64_t>(1, now_ns() - begin));
    }

    [[nodiscard]] bool is_measured() const { return least_ns != UINT64_MAX; }

    // Bytes or operations per second.
    [[nodiscard]] double rate() const { return amount / static_cast<double>(least_ns) * 1e9; }
};

}  // namespace zoo
