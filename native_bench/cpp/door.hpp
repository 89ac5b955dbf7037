// What a worker and the timer share: one page of flags (the door) and the places of all arguments (the plan).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zoo {

inline constexpr std::size_t kPage = 4096;
// The stack a kernel may use, enforced with RLIMIT_STACK.
inline constexpr std::size_t kStackBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxTensors = 16;
inline constexpr std::size_t kMaxScalars = 16;
inline constexpr std::size_t kMaxSlots = 72;
inline constexpr std::uint64_t kRegionInputs = 0;

// Written by both sides; each flag on cache lines of its own, so that a spin on one never slows the other.
// The timer clears it before every batch: a flag holds 0 or the token of this batch.
struct Door {
    alignas(128) std::atomic<std::uint64_t> sealed;
    alignas(128) std::atomic<std::uint64_t> prepare;
    alignas(128) std::atomic<std::uint64_t> ready;
    alignas(128) std::atomic<std::uint64_t> go;
    alignas(128) std::atomic<std::uint64_t> done;
    // Where the worker has mapped the two regions; read once, before any code of the entrant has run.
    alignas(128) std::uint64_t inputs_address;
    std::uint64_t outputs_address;
    // Where its stack ends that the limit allows; read with them.
    std::uint64_t stack_limit;
    // From where on the free stack may hold anything; written by the timer before `prepare`.
    std::uint64_t wipe_from;
};
inline constexpr std::size_t kDoorBytes = kPage;
static_assert(sizeof(Door) <= kDoorBytes);
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

// Read-only for the worker: the slots of its next batch, in order.
struct Plan {
    std::uint64_t tensors;
    std::uint64_t scalars;
    std::uint64_t is_cold;
    std::uint64_t count;
    std::uint64_t order[kMaxSlots];
    Slot slots[kMaxSlots];
};

}  // namespace zoo
