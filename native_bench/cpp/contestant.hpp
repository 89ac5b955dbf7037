// One worker as the timer sees it: the power to stop it, wake it and put it back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "shared.hpp"
#include "tracee.hpp"

namespace zoo {

// Nice -20, for the process and for its session: with autogroups a nice value counts only inside a session.
// Refused to an ordinary user, who does without.
void put_first(pid_t pid);

enum class Reply { done, died, late, early };

std::string name_of(Reply reply);

// A batch goes: return (to the checkpoint), prepare, ring, stop. Between return and ring no code of the
// entrant runs: what it has left in memory and registers is gone, and with it every way back to it.
class Contestant {
public:
    Contestant(pid_t pid, const Shared& shared);

    [[nodiscard]] bool seize() { return tracee_.seize(); }

    // Wait until the worker has sealed itself, stop it there, and keep that moment as its checkpoint. The door is
    // left clear for the next worker, which must not be started before.
    Reply seat(std::uint64_t timeout_ns);

    [[nodiscard]] bool stop() { return tracee_.stop(); }
    [[nodiscard]] bool resume() { return tracee_.resume(); }
    [[nodiscard]] bool return_to_checkpoint();

    // Wake it and let it prepare the plan's batch; `early` when it says done for a `go` that was not given.
    Reply prepare(std::uint64_t token, std::uint64_t timeout_ns);

    // Ring `go` and spin until `done`. Writes the time between the two.
    Reply ring(std::uint64_t token, std::uint64_t timeout_ns, std::uint64_t& elapsed_ns);

    // How it died: "exited STATUS" or "killed SIGNAL CODE ADDRESS REGION OFFSET"; region 0 inputs, 1 outputs, 2 neither.
    [[nodiscard]] std::string obituary() const;

private:
    Reply spin(const std::atomic<std::uint64_t>& flag, std::uint64_t token, std::uint64_t timeout_ns);
    [[nodiscard]] bool finds_own_core() const;
    // For ourselves and the worker: a real-time turn, so that no ordinary process comes between a batch and the
    // clock, or an ordinary one.
    void set_real_time(bool is_on) const;
    void clear_door();

    Tracee tracee_;
    const Shared& shared_;
    std::uintptr_t inputs_address_ = 0;
    std::uintptr_t outputs_address_ = 0;
    std::uintptr_t stack_limit_ = 0;
    // Who spins would never let the other run on the same core.
    bool has_own_core_ = false;
};

}  // namespace zoo
