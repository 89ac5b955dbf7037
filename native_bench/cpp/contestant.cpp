#include "contestant.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "clock.hpp"
#include "descriptor.hpp"

namespace zoo {
namespace {

constexpr std::uint64_t kSpinsPerLook = std::uint64_t{1} << 16U;
constexpr std::uint64_t kSealed = 1;
// A batch that takes longer needs no turn of its own, and the machine has others to serve.
constexpr std::uint64_t kRealTimeNs = 20'000'000;

}  // namespace

void put_first(pid_t pid) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(pid), -20);
    const Descriptor group(open(("/proc/" + std::to_string(pid) + "/autogroup").c_str(), O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const ssize_t written = write(group.number(), "-20", 3);
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

Contestant::Contestant(pid_t pid, const Shared& shared) : tracee_(pid), shared_(shared) { put_first(pid); }

void Contestant::clear_door() { std::memset(shared_.door_page.data(), 0, shared_.door_page.bytes()); }

Reply Contestant::seat(std::uint64_t timeout_ns) {
    const Reply reply = spin(shared_.door().sealed, kSealed, timeout_ns);
    if (reply != Reply::done) {
        return reply;
    }
    inputs_address_ = shared_.door().inputs_address;
    outputs_address_ = shared_.door().outputs_address;
    stack_limit_ = shared_.door().stack_limit;
    if (!tracee_.stop() || !tracee_.keep_checkpoint()) {
        return Reply::died;
    }
    clear_door();
    has_own_core_ = finds_own_core();
    return Reply::done;
}

bool Contestant::finds_own_core() const {
    cpu_set_t ours, theirs, both;
    if (sched_getaffinity(0, sizeof ours, &ours) != 0 || sched_getaffinity(tracee_.pid(), sizeof theirs, &theirs) != 0) {
        return false;
    }
    CPU_AND(&both, &ours, &theirs);
    return CPU_COUNT(&both) == 0;
}

// Asked for anew before each batch: another contestant may have taken us out of it.
void Contestant::set_real_time(bool is_on) const {
    if (!has_own_core_) {
        return;
    }
    const sched_param turn{is_on ? 1 : 0};
    for (const pid_t pid : {pid_t{0}, tracee_.pid()}) {
        sched_setscheduler(pid, is_on ? SCHED_FIFO : SCHED_OTHER, &turn);
    }
}

bool Contestant::return_to_checkpoint() {
    set_real_time(true);
    clear_door();
    shared_.door().wipe_from = tracee_.first_page_in_use(stack_limit_);
    return tracee_.return_to_checkpoint();
}

// No pause instruction: it would add up to 140 cycles to what is measured, and the core is ours.
Reply Contestant::spin(const std::atomic<std::uint64_t>& flag, std::uint64_t token, std::uint64_t timeout_ns) {
    const std::uint64_t begin = now_ns();
    bool is_long = false;
    for (std::uint64_t spins = 1;; ++spins) {
        if (flag.load(std::memory_order_acquire) == token) {
            return Reply::done;
        }
        if (spins % kSpinsPerLook == 0) {
            if (tracee_.is_dead()) {
                return Reply::died;
            }
            const std::uint64_t waited_ns = now_ns() - begin;
            if (waited_ns > timeout_ns) {
                return Reply::late;
            }
            if (waited_ns > kRealTimeNs && !is_long) {
                set_real_time(false);
                is_long = true;
            }
        }
    }
}

Reply Contestant::prepare(std::uint64_t token, std::uint64_t timeout_ns) {
    if (!tracee_.resume()) {
        return Reply::died;
    }
    shared_.door().prepare.store(token, std::memory_order_release);
    const Reply reply = spin(shared_.door().ready, token, timeout_ns);
    if (reply != Reply::done) {
        return reply;
    }
    return shared_.door().done.load(std::memory_order_acquire) == 0 ? Reply::done : Reply::early;
}

Reply Contestant::ring(std::uint64_t token, std::uint64_t timeout_ns, std::uint64_t& elapsed_ns) {
    Door& door = shared_.door();
    const std::uint64_t begin = now_ns();
    door.go.store(token, std::memory_order_release);
    const Reply reply = spin(door.done, token, timeout_ns);
    elapsed_ns = now_ns() - begin;
    return reply;
}

std::string Contestant::obituary() const {
    const Death& death = tracee_.death();
    if (!death.by_signal) {
        return "exited " + std::to_string(death.number);
    }
    std::size_t region = 2;
    std::uintptr_t offset = 0;
    if (death.address - inputs_address_ < shared_.inputs.bytes()) {
        region = 0;
        offset = death.address - inputs_address_;
    } else if (death.address - outputs_address_ < shared_.outputs.bytes()) {
        region = 1;
        offset = death.address - outputs_address_;
    }
    return "killed " + std::to_string(death.number) + ' ' + std::to_string(death.code) + ' ' +
           std::to_string(death.address) + ' ' + std::to_string(region) + ' ' + std::to_string(offset);
}

}  // namespace zoo
