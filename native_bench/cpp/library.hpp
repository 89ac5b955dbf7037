// The contestant's library in a worker, and its writable data, put back before every batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "door.hpp"

namespace zoo {

using Entry = void (*)(void* const tensors[], const void* const scalars[]);

struct Segment {
    std::byte* live;
    std::byte* pristine;
    std::size_t bytes;
};

struct Library {
    Entry entry = nullptr;
    std::span<const Segment> segments;
    std::uintptr_t stack_end = 0;
};

// Load the library by absolute path; `entry` is null where that fails. The copies lie in read-only memory.
Library load_library(const char* path);

// Undo what the kernel has remembered in its .data and .bss.
void restore(const Library& library);

// The first address behind this process's stack.
std::uintptr_t stack_end();

// Overwrite the stack from here up to the caller's: nothing survives there from one batch to the next.
void wipe_stack_from(std::uintptr_t begin);

}  // namespace zoo
