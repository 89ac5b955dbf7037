#include "tracee.hpp"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "door.hpp"

namespace zoo {
namespace {

constexpr std::size_t kPagesLookedAt = kStackBytes / kPage;
// A page's word in /proc/PID/pagemap: it is in memory, or was swapped out.
constexpr std::uint64_t kInUse = std::uint64_t{3} << 62U;
constexpr std::size_t kRegisterRoom = std::size_t{32} << 10U;
// What a leaf function may use below its stack pointer, and the return address of the call in flight.
constexpr std::uintptr_t kBelowStackPointer = 256;

#if defined(__x86_64__)
constexpr int kExtended = NT_X86_XSTATE;
std::uintptr_t stack_pointer(const user_regs_struct& registers) { return registers.rsp; }
#elif defined(__aarch64__)
constexpr int kExtended = NT_PRFPREG;
std::uintptr_t stack_pointer(const user_regs_struct& registers) { return registers.sp; }
#else
#error "no registers known for this machine"
#endif

bool read_set(pid_t pid, int kind, std::vector<std::byte>& set) {
    set.resize(kRegisterRoom);
    iovec room{set.data(), set.size()};
    if (ptrace(PTRACE_GETREGSET, pid, kind, &room) != 0) {
        return false;
    }
    set.resize(room.iov_len);
    return true;
}

bool write_set(pid_t pid, int kind, std::vector<std::byte>& set) {
    iovec content{set.data(), set.size()};
    return ptrace(PTRACE_SETREGSET, pid, kind, &content) == 0;
}

bool is_event_stop(int status) { return status >> 16 == PTRACE_EVENT_STOP; }

}  // namespace

bool Tracee::seize() { return ptrace(PTRACE_SEIZE, pid_, nullptr, PTRACE_O_EXITKILL) == 0; }

bool Tracee::resume() { return !is_dead_ && ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0; }

// True when the process has stopped because we asked. A signal is handed on, and it runs or dies of it.
bool Tracee::take(int status) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        is_dead_ = true;
        const int number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
        if (WIFEXITED(status) || death_.number != number) {
            death_ = {};
        }
        death_.by_signal = WIFSIGNALED(status);
        death_.number = number;
        return false;
    }
    if (is_event_stop(status)) {
        return true;
    }
    siginfo_t info{};
    ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info);
    death_ = {true, WSTOPSIG(status), info.si_code, reinterpret_cast<std::uintptr_t>(info.si_addr)};
    ptrace(PTRACE_CONT, pid_, nullptr, WSTOPSIG(status));
    return false;
}

bool Tracee::stop() {
    if (is_dead_ || ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) != 0) {
        return false;
    }
    int status = 0;
    while (waitpid(pid_, &status, __WALL) == pid_) {
        if (take(status)) {
            return true;
        }
        if (is_dead_) {
            return false;
        }
    }
    return false;
}

bool Tracee::is_dead() {
    int status = 0;
    while (!is_dead_ && waitpid(pid_, &status, __WALL | WNOHANG) == pid_) {
        if (take(status) && !resume()) {
            break;
        }
    }
    return is_dead_;
}

bool Tracee::get_registers() { return read_set(pid_, NT_PRSTATUS, general_) && read_set(pid_, kExtended, extended_); }

bool Tracee::set_registers() { return write_set(pid_, NT_PRSTATUS, general_) && write_set(pid_, kExtended, extended_); }

// All private writable mappings; of the stack only the frames in use, for the worker itself wipes the rest.
bool Tracee::find_segments() {
    user_regs_struct registers{};
    std::memcpy(&registers, general_.data(), std::min(sizeof registers, general_.size()));
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    segments_.clear();
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char rights[5] = {};
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) != 3) {
            return false;
        }
        if (rights[1] != 'w' || rights[3] != 'p') {
            continue;
        }
        const std::uintptr_t top = stack_pointer(registers);
        if (top >= begin && top < end) {
            begin = std::max(begin, top - kBelowStackPointer);
        }
        segments_.push_back({begin, end - begin});
    }
    return !segments_.empty();
}

bool Tracee::copy(bool is_write) {
    std::vector<iovec> remote;
    for (const Segment& segment : segments_) {
        remote.push_back({reinterpret_cast<void*>(segment.begin), segment.bytes});
    }
    const iovec local{image_.data(), image_.size()};
    const auto move = is_write ? process_vm_writev : process_vm_readv;
    return move(pid_, &local, 1, remote.data(), remote.size(), 0) == static_cast<ssize_t>(image_.size());
}

bool Tracee::keep_checkpoint() {
    page_map_ = Descriptor(open(("/proc/" + std::to_string(pid_) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    if (!get_registers() || !find_segments()) {
        return false;
    }
    std::size_t bytes = 0;
    for (const Segment& segment : segments_) {
        bytes += segment.bytes;
    }
    image_.resize(bytes);
    return copy(false);
}

std::uintptr_t Tracee::first_page_in_use(std::uintptr_t begin) const {
    std::array<std::uint64_t, kPagesLookedAt> pages{};
    const auto at = static_cast<off_t>(begin / kPage * sizeof pages[0]);
    if (pread(page_map_.number(), pages.data(), sizeof pages, at) != static_cast<ssize_t>(sizeof pages)) {
        return begin;
    }
    const auto* const found = std::ranges::find_if(pages, [](std::uint64_t page) { return (page & kInUse) != 0; });
    return begin + static_cast<std::size_t>(found - pages.data()) * kPage;
}

bool Tracee::return_to_checkpoint() { return !is_dead_ && copy(true) && set_registers(); }

}  // namespace zoo
