// One worker as the timer sees it: its mappings, and the power to stop and wake it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "door.hpp"
#include "mapping.hpp"

namespace zoo {

// Nice -20, for the process and for its session: with autogroups a nice value counts only inside a session.
// Refused to an ordinary user, who does without.
void put_first(pid_t pid);

enum class Reply { done, died, late, early };

std::string name_of(Reply reply);

// Owns descriptors and mappings: a copy would close them twice.
class Contestant {
public:
    Contestant(pid_t pid, Mapping door, Mapping plan, Mapping outputs);
    Contestant(const Contestant&) = delete;
    Contestant& operator=(const Contestant&) = delete;
    Contestant(Contestant&& other) noexcept;
    Contestant& operator=(Contestant&&) = delete;
    ~Contestant();

    [[nodiscard]] Door& door() const { return *reinterpret_cast<Door*>(door_.data()); }
    [[nodiscard]] Plan& plan() const { return *reinterpret_cast<Plan*>(plan_.data()); }
    [[nodiscard]] const Mapping& outputs() const { return outputs_; }

    // SIGSTOP, and wait until the kernel says that it is stopped: only then does it take no core from the others.
    bool stop() const;
    [[nodiscard]] bool resume() const;
    [[nodiscard]] bool is_dead() const;

    // Let the worker prepare the plan's batch; `early` when it has already said done for `go`.
    Reply prepare(std::uint64_t token, std::uint64_t timeout_ns) const;

    // Ring `go` and spin until `done`. Writes the time between the two.
    Reply ring(std::uint64_t token, std::uint64_t timeout_ns, std::uint64_t& elapsed_ns) const;

private:
    [[nodiscard]] char state() const;
    Reply spin(const std::atomic<std::uint64_t>& flag, std::uint64_t token, std::uint64_t timeout_ns) const;

    int pidfd_;
    int stat_;
    Mapping door_, plan_, outputs_;
};

}  // namespace zoo
