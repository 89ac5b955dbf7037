// How many bytes per second one core moves: read, write, copy (read and written bytes), triad.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "figure.hpp"

namespace zoo {

// A working set to move: the level it is meant for, and whether its stores go past the caches.
struct WorkingSet {
    std::string level;
    std::size_t bytes;
    bool streams;
};

// Bytes that a working set takes in fact: whole pages for each of up to three arrays.
std::size_t room_for(const WorkingSet& set);

// The four figures of a set that lies at `memory`, of at least `room_for(set)` bytes, all of them normal floats.
std::vector<Figure> bandwidth_figures(const WorkingSet& set, std::byte* memory);

}  // namespace zoo
