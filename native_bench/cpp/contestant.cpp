#include "contestant.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "clock.hpp"

namespace zoo {
namespace {

constexpr std::uint64_t kSpinsPerLook = std::uint64_t{1} << 16U;

}  // namespace

void put_first(pid_t pid) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(pid), -20);
    const int group = open(("/proc/" + std::to_string(pid) + "/autogroup").c_str(), O_WRONLY | O_CLOEXEC);
    if (group >= 0) {
        [[maybe_unused]] const ssize_t written = write(group, "-20", 3);
        close(group);
    }
}

std::string name_of(Reply reply) {
    switch (reply) {
        case Reply::done:
            return "done";
        case Reply::died:
            return "died";
        case Reply::late:
            return "late";
        case Reply::early:
            return "early";
    }
    return "unknown";
}

Contestant::Contestant(pid_t pid, Mapping door, Mapping plan, Mapping outputs)
    : pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      stat_(open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC)),
      door_(std::move(door)),
      plan_(std::move(plan)),
      outputs_(std::move(outputs)) {
    put_first(pid);
}

Contestant::Contestant(Contestant&& other) noexcept
    : pidfd_(std::exchange(other.pidfd_, -1)),
      stat_(std::exchange(other.stat_, -1)),
      door_(std::move(other.door_)),
      plan_(std::move(other.plan_)),
      outputs_(std::move(other.outputs_)) {}

Contestant::~Contestant() {
    for (const int descriptor : {pidfd_, stat_}) {
        if (descriptor >= 0) {
            close(descriptor);
        }
    }
}

char Contestant::state() const {
    std::array<char, 256> text{};
    const ssize_t length = pread(stat_, text.data(), text.size(), 0);
    const std::string_view line(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    const std::size_t bracket = line.rfind(')');
    return bracket == std::string_view::npos || bracket + 2 >= line.size() ? 'X' : line[bracket + 2];
}

bool Contestant::stop() const {
    if (syscall(SYS_pidfd_send_signal, pidfd_, SIGSTOP, nullptr, 0) != 0) {
        return false;
    }
    for (char now = state(); now != 'T'; now = state()) {
        if (now == 'X' || now == 'Z') {
            return false;
        }
        sched_yield();
    }
    return true;
}

bool Contestant::resume() const { return syscall(SYS_pidfd_send_signal, pidfd_, SIGCONT, nullptr, 0) == 0; }

bool Contestant::is_dead() const {
    pollfd waiting{pidfd_, POLLIN, 0};
    return poll(&waiting, 1, 0) != 0;
}

// No pause instruction: it would add up to 140 cycles to what is measured, and the core is ours.
Reply Contestant::spin(const std::atomic<std::uint64_t>& flag, std::uint64_t token, std::uint64_t timeout_ns) const {
    const std::uint64_t deadline = now_ns() + timeout_ns;
    for (std::uint64_t spins = 1;; ++spins) {
        if (flag.load(std::memory_order_acquire) == token) {
            return Reply::done;
        }
        if (spins % kSpinsPerLook == 0) {
            if (is_dead()) {
                return Reply::died;
            }
            if (now_ns() > deadline) {
                return Reply::late;
            }
        }
    }
}

Reply Contestant::prepare(std::uint64_t token, std::uint64_t timeout_ns) const {
    const std::uint64_t last_done = door().done.load(std::memory_order_acquire);
    door().prepare.store(token, std::memory_order_release);
    const Reply reply = spin(door().ready, token, timeout_ns);
    if (reply != Reply::done) {
        return reply;
    }
    return door().done.load(std::memory_order_acquire) == last_done ? Reply::done : Reply::early;
}

Reply Contestant::ring(std::uint64_t token, std::uint64_t timeout_ns, std::uint64_t& elapsed_ns) const {
    const std::uint64_t begin = now_ns();
    door().go.store(token, std::memory_order_release);
    const Reply reply = spin(door().done, token, timeout_ns);
    elapsed_ns = now_ns() - begin;
    return reply;
}

}  // namespace zoo
