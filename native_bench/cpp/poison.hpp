// What lies in outputs before a call and in the red zones always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "coin.hpp"

namespace zoo {

// 8 bytes that are NaN read as fp64, fp32, fp16 or bf16 alike, with a payload from the coin.
std::uint64_t nan_pattern(Coin& coin);

// The span begins `phase` bytes into the pattern, here as in `first_change`.
void fill(std::span<std::byte> bytes, std::uint64_t pattern, std::size_t phase = 0);

// About where the pattern is broken first.
std::optional<std::size_t> first_change(std::span<const std::byte> bytes, std::uint64_t pattern,
                                        std::size_t phase = 0);

}  // namespace zoo
