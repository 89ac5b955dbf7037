#include "poison.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace zoo {
namespace {

std::uint64_t from_phase(std::uint64_t pattern, std::size_t phase) {
    return std::rotr(pattern, static_cast<int>(8 * (phase % sizeof pattern)));
}

}  // namespace

std::uint64_t nan_pattern(Coin& coin) {
    std::uint64_t pattern = 0;
    for (int part = 0; part < 4; ++part) {
        const std::uint64_t random = coin.bits();
        const std::uint64_t half = 0x7ff0U | (1 + random % 15) | ((random >> 8U & 1U) << 15U);
        pattern = pattern << 16U | half;
    }
    return pattern;
}

void fill(std::span<std::byte> bytes, std::uint64_t pattern, std::size_t phase) {
    pattern = from_phase(pattern, phase);
    std::size_t at = 0;
    for (; at + sizeof pattern <= bytes.size(); at += sizeof pattern) {
        std::memcpy(bytes.data() + at, &pattern, sizeof pattern);
    }
    std::memcpy(bytes.data() + at, &pattern, bytes.size() - at);
}

std::optional<std::size_t> first_change(std::span<const std::byte> bytes, std::uint64_t pattern, std::size_t phase) {
    pattern = from_phase(pattern, phase);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof pattern) {
        const std::size_t part = std::min(sizeof pattern, bytes.size() - at);
        if (std::memcmp(bytes.data() + at, &pattern, part) != 0) {
            return at;
        }
    }
    return std::nullopt;
}

}  // namespace zoo
