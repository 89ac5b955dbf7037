// How a worker gives up its powers: filter A around dlopen, then no clock, then filter B (exit only).
#pragma once

namespace zoo {

// Allow only what dlopen needs. Returns false when the kernel refuses the filter.
bool seal_for_loading();

// Forbid the time-stamp counter (x86) and every system call but exit. Nothing can be undone afterwards.
bool seal_for_serving();

}  // namespace zoo
