// A worker as the kernel shows it to its tracer: stopped and woken at will, and put back to a checkpoint.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "descriptor.hpp"

namespace zoo {

// How a process ended, as the kernel told us: nothing in it is the process's own claim but the exit status.
struct Death {
    bool by_signal = false;
    int number = 0;  // the signal, or the exit status
    int code = 0;    // si_code of the signal
    std::uintptr_t address = 0;
};

// Owns the tracing of one process, which dies with us.
class Tracee {
public:
    explicit Tracee(pid_t pid) : pid_(pid) {}

    [[nodiscard]] pid_t pid() const { return pid_; }

    // False where the kernel does not let us trace it.
    [[nodiscard]] bool seize();

    // Interrupt it and wait until it has stopped; false when it has died instead.
    [[nodiscard]] bool stop();
    [[nodiscard]] bool resume();

    // Look at what has happened to it, without waiting. A signal it gets is noted and handed on.
    [[nodiscard]] bool is_dead();
    [[nodiscard]] const Death& death() const { return death_; }

    // Remember its registers and its writable memory, but for the stack that is free. It must be stopped.
    [[nodiscard]] bool keep_checkpoint();

    // Put back what was kept: whatever has run since then, the next instruction is the checkpoint's,
    // and it finds the memory that it left. It must be stopped.
    [[nodiscard]] bool return_to_checkpoint();

    // The first page from `begin` on that it has ever written to, within a stack's size; `begin` where that is not known.
    [[nodiscard]] std::uintptr_t first_page_in_use(std::uintptr_t begin) const;

private:
    struct Segment {
        std::uintptr_t begin;
        std::size_t bytes;
    };

    [[nodiscard]] bool take(int status);
    [[nodiscard]] bool get_registers();
    [[nodiscard]] bool set_registers();
    [[nodiscard]] bool find_segments();
    [[nodiscard]] bool copy(bool is_write);

    pid_t pid_;
    bool is_dead_ = false;
    Death death_;
    std::vector<std::byte> general_, extended_;
    std::vector<Segment> segments_;
    std::vector<std::byte> image_;
    Descriptor page_map_;
};

}  // namespace zoo
