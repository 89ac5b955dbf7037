// The program that runs one contestant: it loads the library, seals itself, and serves batches of calls.
//
// It owns no clock, no verdict and no descriptor. Everything it says (the door) is checked by the timer.
// usage: worker SOCKET DOOR PLAN INPUTS INPUTS_BYTES OUTPUTS OUTPUTS_BYTES LIBRARY CPU
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <cstdint>
#include <cstdlib>

#include "door.hpp"
#include "library.hpp"
#include "mapping.hpp"
#include "seal.hpp"

namespace {

using namespace zoo;

constexpr std::size_t kLine = 64;

enum Failure { kUsage = 90, kMap = 91, kHello = 92, kLoad = 93, kSeal = 94 };

struct Regions {
    Mapping door, plan, inputs, outputs;
};

// Read by the fault handler only, which has no other way to reach it.
const Regions* g_regions = nullptr;

void locate(std::uintptr_t address, Door& door) {
    const std::array<const Mapping*, 2> regions{&g_regions->inputs, &g_regions->outputs};
    door.fault_region = 2;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const auto base = reinterpret_cast<std::uintptr_t>(regions[i]->data());
        if (address >= base && address < base + regions[i]->bytes()) {
            door.fault_region = i;
            door.fault_offset = address - base;
        }
    }
}

// A hint for the entrant, never evidence: the kernel could write the same words itself.
void on_fault(int signal, siginfo_t* info, void*) {
    auto& door = *reinterpret_cast<Door*>(g_regions->door.data());
    door.fault_code = static_cast<std::uint64_t>(info->si_code);
    door.fault_address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    locate(reinterpret_cast<std::uintptr_t>(info->si_addr), door);
    door.fault_signal = static_cast<std::uint64_t>(signal);
    _exit(128 + signal);
}

void watch_faults() {
    static std::array<std::byte, 64 * 1024> spare;
    stack_t stack{};
    stack.ss_sp = spare.data();
    stack.ss_size = spare.size();
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
        sigaction(signal, &action, nullptr);
    }
}

// Each process gets another layout: within one, code and data placement move a figure by up to 1 %.
void leave_random_gap() {
    std::uint16_t pages = 0;
    if (getrandom(&pages, sizeof pages, 0) == sizeof pages) {
        mmap(nullptr, std::size_t{4096} * (1 + pages % 512), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
}

Regions map_regions(char** argv) {
    Regions regions;
    leave_random_gap();
    regions.door = Mapping(std::atoi(argv[2]), 4096, true);
    leave_random_gap();
    regions.plan = Mapping(std::atoi(argv[3]), sizeof(Plan), false);
    leave_random_gap();
    regions.inputs = Mapping(std::atoi(argv[4]), std::strtoull(argv[5], nullptr, 10), false);
    leave_random_gap();
    regions.outputs = Mapping(std::atoi(argv[6]), std::strtoull(argv[7], nullptr, 10), true);
    return regions;
}

bool all_mapped(const Regions& regions) {
    return regions.door.is_mapped() && regions.plan.is_mapped() && regions.inputs.is_mapped() &&
           regions.outputs.is_mapped();
}

struct Call {
    std::array<void*, kMaxTensors> tensors;
    std::array<const void*, kMaxScalars> scalars;
};

void resolve(const Regions& regions, const Plan& plan, std::uint64_t slot, Call& call) {
    const Slot& source = plan.slots[slot];
    for (std::size_t i = 0; i < plan.tensors; ++i) {
        const bool is_input = source.tensors[i].region == kRegionInputs;
        call.tensors[i] = (is_input ? regions.inputs : regions.outputs).data() + source.tensors[i].offset;
    }
    for (std::size_t i = 0; i < plan.scalars; ++i) {
        call.scalars[i] = &source.scalars[i];
    }
}

// Bring the arguments to this core: inputs are read, output lines rewritten with what they hold, to own them.
void touch(const Plan& plan, const Call& call, std::uint64_t slot) {
    for (std::size_t i = 0; i < plan.tensors; ++i) {
        const Tensor& tensor = plan.slots[slot].tensors[i];
        auto* bytes = static_cast<volatile unsigned char*>(call.tensors[i]);
        for (std::uint64_t at = 0; at < tensor.bytes; at += kLine) {
            const unsigned char value = bytes[at];
            if (tensor.region != kRegionInputs) {
                bytes[at] = value;
            }
        }
    }
}

inline void drain_stores() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();  // non-temporal stores of an honest kernel must be visible at `done`
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

std::uint64_t await_change(const std::atomic<std::uint64_t>& flag, std::uint64_t last) {
    std::uint64_t now = flag.load(std::memory_order_acquire);
    while (now == last) {
        now = flag.load(std::memory_order_acquire);
    }
    return now;
}

class Server {
public:
    Server(const Regions& regions, const Library& library)
        : regions_(regions),
          library_(library),
          door_(*reinterpret_cast<Door*>(regions.door.data())),
          plan_(*reinterpret_cast<const Plan*>(regions.plan.data())) {
        std::fegetenv(&environment_);
    }

    [[noreturn]] void serve() {
        std::uint64_t prepared = 0;
        std::uint64_t gone = 0;
        for (;;) {
            prepared = await_change(door_.prepare, prepared);
            prepare();
            door_.ready.store(prepared, std::memory_order_release);
            gone = await_change(door_.go, gone);
            for (std::uint64_t i = 0; i < plan_.count; ++i) {
                library_.entry(calls_[plan_.warm + i].tensors.data(), calls_[plan_.warm + i].scalars.data());
            }
            drain_stores();
            door_.done.store(gone, std::memory_order_release);
        }
    }

private:
    void prepare() {
        restore(library_);
        wipe_stack();
        std::fesetenv(&environment_);
        const std::uint64_t total = plan_.warm + plan_.count;
        for (std::uint64_t i = 0; i < total; ++i) {
            resolve(regions_, plan_, plan_.order[i], calls_[i]);
        }
        for (std::uint64_t i = 0; i < plan_.warm; ++i) {
            library_.entry(calls_[i].tensors.data(), calls_[i].scalars.data());
        }
        for (std::uint64_t i = plan_.warm; i < total; ++i) {
            touch(plan_, calls_[i], plan_.order[i]);
        }
    }

    const Regions& regions_;
    const Library& library_;
    Door& door_;
    const Plan& plan_;
    std::fenv_t environment_{};
    std::array<Call, kMaxSlots> calls_{};
};

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
}

// The receiver learns our pid from the message's credentials, as its own pid namespace counts.
bool say_hello(int socket) { return send(socket, "h", 1, MSG_NOSIGNAL) == 1; }

}  // namespace

int main(int argc, char** argv) {
    if (argc != 10) {
        return kUsage;
    }
    pin(std::atoi(argv[9]));
    static Regions regions = map_regions(argv);
    if (!all_mapped(regions)) {
        return kMap;
    }
    g_regions = &regions;
    watch_faults();
    if (!say_hello(std::atoi(argv[1]))) {
        return kHello;
    }
    const rlimit stack{kStackBytes, kStackBytes};
    setrlimit(RLIMIT_STACK, &stack);
    // Before the library is loaded: its constructors must find no descriptor to map or write.
    if (close_range(0, ~0U, 0) != 0 || !seal_for_loading()) {
        return kSeal;
    }
    leave_random_gap();
    static const Library library = load_library(argv[8]);
    if (library.entry == nullptr) {
        return kLoad;
    }
    static Server server(regions, library);
    if (!seal_for_serving()) {
        return kSeal;
    }
    server.serve();
}
