#include "bandwidth.hpp"

#include <algorithm>

#include "lanes.hpp"

namespace zoo {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostArrays = 3;
// Vectors per turn of a loop: enough loads in flight for the widest core.
constexpr std::size_t kTurn = 8;
constexpr std::size_t kRepetitionBytes = std::size_t{16} << 20U;

static_assert(kPage % (kTurn * kVectorBytes) == 0);

// Arrays of whole pages: a load is then never taken for one that waits for a store 4 KiB away.
std::size_t array_bytes(const WorkingSet& set, std::size_t arrays) {
    return std::max<std::size_t>(1, set.bytes / arrays / kPage) * kPage;
}

template <bool kStreams>
void put(Floats* to, Floats value) {
    if constexpr (kStreams) {
        stream(to, value);
    } else {
        *to = value;
    }
}

void read(std::byte* memory, std::size_t count) {
    const auto* from = reinterpret_cast<const Words*>(memory);
    Words seen[kTurn]{};
    for (std::size_t i = 0; i < count; i += kTurn) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kTurn; ++j) {
            seen[j] |= from[i + j];
        }
    }
    Words all{};
    for (const Words& part : seen) {
        all |= part;
    }
    keep(all);
}

template <bool kStreams>
void write(std::byte* memory, std::size_t count) {
    auto* to = reinterpret_cast<Floats*>(memory);
    const Floats value = opaque(Floats{} + 1.0F);
    for (std::size_t i = 0; i < count; i += kTurn) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kTurn; ++j) {
            put<kStreams>(to + i + j, value);
        }
    }
}

template <bool kStreams>
void copy(std::byte* memory, std::size_t count) {
    const auto* from = reinterpret_cast<const Floats*>(memory);
    auto* to = reinterpret_cast<Floats*>(memory) + count;
    for (std::size_t i = 0; i < count; i += kTurn) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kTurn; ++j) {
            put<kStreams>(to + i + j, from[i + j]);
        }
    }
}

template <bool kStreams>
void triad(std::byte* memory, std::size_t count) {
    const auto* left = reinterpret_cast<const Floats*>(memory);
    const auto* right = left + count;
    auto* to = reinterpret_cast<Floats*>(memory) + 2 * count;
    const Floats factor = opaque(Floats{} + 0.25F);
    for (std::size_t i = 0; i < count; i += kTurn) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kTurn; ++j) {
            put<kStreams>(to + i + j, left[i + j] + factor * right[i + j]);
        }
    }
}

template <bool kStreams>
std::vector<Figure> figures_of(const WorkingSet& set, std::byte* memory) {
    const auto figure = [&](const char* kind, Pass pass, std::size_t arrays) {
        const std::size_t each = array_bytes(set, arrays);
        const std::size_t passes = std::max<std::size_t>(1, kRepetitionBytes / (arrays * each));
        const auto amount = static_cast<double>(passes * arrays * each);
        return Figure{set.level + "." + kind, pass, memory, each / kVectorBytes, passes, amount};
    };
    return {
        figure("read", read, 1),
        figure("write", write<kStreams>, 1),
        figure("copy", copy<kStreams>, 2),
        figure("triad", triad<kStreams>, 3),
    };
}

}  // namespace

std::size_t room_for(const WorkingSet& set) {
    std::size_t room = 0;
    for (std::size_t arrays = 1; arrays <= kMostArrays; ++arrays) {
        room = std::max(room, arrays * array_bytes(set, arrays));
    }
    return room;
}

std::vector<Figure> bandwidth_figures(const WorkingSet& set, std::byte* memory) {
    return set.streams ? figures_of<true>(set, memory) : figures_of<false>(set, memory);
}

}  // namespace zoo
