// The trusted timer: it owns the clock and the judged memory, never a contestant's code.
//
// It reads commands (words and numbers) on stdin and answers in lines on stdout:
//   shared INPUTS BYTES OUTPUTS BYTES DOOR PLAN | pool FD BYTES -> ok
//   contestant PID                                              -> ok | late | gone WHY | died OBITUARY | untraceable WHY
//   call CONTESTANT TIMEOUT_NS                                  -> done | late | early | died OBITUARY
//   case SEED ROUNDS LEAST BUDGET_NS PATIENCE_NS TIMEOUT_NS BATCH  BASE STRIDE SETS
//        INPUTS {TENSOR BYTES OFFSET}  OUTPUTS {TENSOR DTYPE ELEMENTS LO HI}             -> ok
//   clocks                                                      -> clocks TICKS NS
//   null CONTESTANT | pilot CONTESTANT CALLS                    -> ns N | flaw WHAT CONTESTANT TENSOR ELEMENT [OBITUARY]
//   audit CONTESTANT SET                                        -> slot N | flaw …
//   run                                                         -> batch ROUND HALF CONTESTANT NS …, end | flaw …
// An OBITUARY is "exited STATUS" or "killed SIGNAL CODE ADDRESS REGION OFFSET".
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "clock.hpp"
#include "sitting.hpp"

namespace {

using namespace zoo;

constexpr std::uint64_t kSeatNs = 20'000'000'000;

template <class T>
T next() {
    T value{};
    std::cin >> value;
    return value;
}

class Timer {
public:
    // False when a mapping fails or a command is unknown: the reader of our answers then sees the end.
    bool obey(const std::string& command) {
        if (command == "pool") {
            return map_pool();
        }
        if (command == "shared") {
            return map_shared();
        }
        if (command == "contestant") {
            return seat();
        }
        if (command == "call") {
            return call();
        }
        if (command == "case") {
            return open_case();
        }
        if (command == "clocks") {
            return tell_clocks();
        }
        if (sitting_ == nullptr) {
            return false;
        }
        if (command == "audit") {
            return audit();
        }
        if (command == "null" || command == "pilot") {
            return ask(command == "pilot");
        }
        return command == "run" && run();
    }

private:
    bool map_pool() {
        const int descriptor = next<int>();
        pool_ = Mapping(descriptor, next<std::size_t>(), true);
        std::cout << "ok" << std::endl;
        return pool_.is_mapped();
    }

    bool map_shared() {
        const int inputs = next<int>();
        shared_.inputs = Mapping(inputs, next<std::size_t>(), true);
        const int outputs = next<int>();
        shared_.outputs = Mapping(outputs, next<std::size_t>(), true);
        shared_.door_page = Mapping(next<int>(), kDoorBytes, true);
        shared_.plan_pages = Mapping(next<int>(), sizeof(Plan), true);
        std::cout << "ok" << std::endl;
        return shared_.is_mapped();
    }

    bool seat() {
        contestants_.emplace_back(next<pid_t>(), shared_);
        Contestant& newcomer = contestants_.back();
        if (!newcomer.seize()) {
            std::cout << (errno == ESRCH ? "gone " : "untraceable ") << std::strerror(errno) << std::endl;
            return true;
        }
        // It is left running until it is sealed: the worker has still its library to load.
        const Reply reply = newcomer.seat(kSeatNs);
        if (reply == Reply::died) {
            std::cout << "died " << newcomer.obituary() << std::endl;
        } else {
            std::cout << (reply == Reply::done ? "ok" : name_of(reply)) << std::endl;
        }
        return true;
    }

    // One call of what Python has laid out and planned: no clock is judged here.
    bool call() {
        Contestant& contestant = contestants_.at(next<std::size_t>());
        const auto timeout_ns = next<std::uint64_t>();
        std::uint64_t elapsed_ns = 0;
        Reply reply = contestant.return_to_checkpoint() ? contestant.prepare(coin_.token(), timeout_ns) : Reply::died;
        if (reply == Reply::done) {
            reply = contestant.ring(coin_.token(), timeout_ns, elapsed_ns);
        }
        if (reply == Reply::done && !contestant.stop()) {
            reply = Reply::died;
        }
        std::cout << name_of(reply);
        if (reply == Reply::died) {
            std::cout << ' ' << contestant.obituary();
        }
        std::cout << std::endl;
        return true;
    }

    bool open_case() {
        Terms terms{};
        std::cin >> terms.seed >> terms.rounds >> terms.least_rounds >> terms.budget_ns >> terms.patience_ns;
        std::cin >> terms.timeout_ns >> terms.batch;
        Pool sets{};
        std::cin >> sets.base >> sets.stride >> sets.sets;
        sets.inputs.resize(next<std::size_t>());
        for (PoolInput& input : sets.inputs) {
            std::cin >> input.tensor >> input.bytes >> input.offset;
        }
        sets.outputs.resize(next<std::size_t>());
        for (PoolOutput& output : sets.outputs) {
            output.tensor = next<std::size_t>();
            output.dtype = static_cast<Dtype>(next<std::uint64_t>());
            std::cin >> output.elements >> output.lo_offset >> output.hi_offset;
        }
        if (!std::cin || terms.batch > std::min(kMaxSlots, sets.sets)) {
            return false;
        }
        sitting_ = std::make_unique<Sitting>(std::span(contestants_), shared_, pool_, std::move(sets), terms);
        std::cout << "ok" << std::endl;
        return true;
    }

    bool tell_clocks() const {
        const ClockPair pair = read_clocks();
        std::cout << "clocks " << pair.ticks << ' ' << pair.ns << std::endl;
        return true;
    }

    bool ask(bool is_pilot) {
        const auto contestant = next<std::size_t>();
        std::uint64_t answer_ns = 0;
        const bool is_right = is_pilot ? sitting_->least_call(contestant, next<std::size_t>(), answer_ns)
                                       : sitting_->measure_null(contestant, answer_ns);
        if (is_right) {
            std::cout << "ns " << answer_ns << std::endl;
        } else {
            report_flaw();
        }
        return true;
    }

    bool audit() {
        const auto contestant = next<std::size_t>();
        std::size_t slot = 0;
        if (sitting_->audit(contestant, next<std::size_t>(), slot)) {
            std::cout << "slot " << slot << std::endl;
        } else {
            report_flaw();
        }
        return true;
    }

    bool run() {
        if (sitting_->run(std::cout)) {
            std::cout << "end" << std::endl;
        } else {
            report_flaw();
        }
        return true;
    }

    void report_flaw() const {
        const Flaw& flaw = sitting_->flaw();
        std::cout << "flaw " << flaw.what << ' ' << flaw.contestant << ' ' << flaw.tensor << ' ' << flaw.index;
        if (flaw.what == name_of(Reply::died)) {
            std::cout << ' ' << contestants_.at(flaw.contestant).obituary();
        }
        std::cout << std::endl;
    }

    Shared shared_;
    Mapping pool_;
    std::vector<Contestant> contestants_;
    std::unique_ptr<Sitting> sitting_;
    Coin coin_{std::random_device{}()};
};

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<std::size_t>(std::atoi(argv[1])), &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a timer that outlives its run would hold a core
    put_first(getpid());
    Timer timer;
    std::string command;
    while (std::cin >> command) {
        if (!timer.obey(command)) {
            return 1;
        }
    }
    return 0;
}
