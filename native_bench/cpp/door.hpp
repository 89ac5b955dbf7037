// What a worker and the timer share: one page of flags (the door) and one page range of pointers (the plan).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zoo {

inline constexpr std::size_t kMaxTensors = 16;
inline constexpr std::size_t kMaxScalars = 16;
inline constexpr std::size_t kMaxSlots = 72;
inline constexpr std::uint64_t kRegionInputs = 0;

// Written by both sides; each flag on cache lines of its own, so that a spin on one never slows the other.
struct Door {
    alignas(128) std::atomic<std::uint64_t> prepare;
    alignas(128) std::atomic<std::uint64_t> ready;
    alignas(128) std::atomic<std::uint64_t> go;
    alignas(128) std::atomic<std::uint64_t> done;
    alignas(128) std::atomic<std::uint64_t> fault_signal;
    std::atomic<std::uint64_t> fault_code;
    std::atomic<std::uint64_t> fault_address;
    std::atomic<std::uint64_t> fault_region;
    std::atomic<std::uint64_t> fault_offset;
};
static_assert(sizeof(Door) <= 4096);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct Tensor {
    std::uint64_t region;
    std::uint64_t offset;
    std::uint64_t bytes;
};

// One set of arguments of the kernel.
struct Slot {
    Tensor tensors[kMaxTensors];
    std::uint64_t scalars[kMaxScalars];
};

// Read-only for the worker. `order` holds `warm` untimed slots, then `count` timed ones.
struct Plan {
    std::uint64_t tensors;
    std::uint64_t scalars;
    std::uint64_t warm;
    std::uint64_t count;
    std::uint64_t order[kMaxSlots];
    Slot slots[kMaxSlots];
};

}  // namespace zoo
