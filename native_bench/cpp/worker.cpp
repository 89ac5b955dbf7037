// The program that runs one contestant: it loads the library, seals itself, and serves batches of calls.
//
// It owns no clock, no verdict and no descriptor, and its tracer is the timer, which checks all that it says.
// usage: worker SOCKET DOOR PLAN INPUTS INPUTS_BYTES OUTPUTS OUTPUTS_BYTES LIBRARY CPU LAYOUT
#include <alloca.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "coin.hpp"
#include "door.hpp"
#include "library.hpp"
#include "lines.hpp"
#include "mapping.hpp"
#include "seal.hpp"

namespace {

using namespace zoo;

constexpr std::size_t kLine = 64;

enum Failure { kUsage = 90, kMap = 91, kHello = 92, kLoad = 93, kSeal = 94 };

struct Regions {
    Mapping door, plan, inputs, outputs;
};

// Where code and data lie moves a figure by up to 1 %. The contestants of a set get one layout, drawn anew for each
// set: so it can't favour one of them, and its influence shows in the spread of the sets. The system must not draw
// addresses of its own for that; where it can't be stopped, the layouts differ and the figure is only less sharp.
void stop_random_addresses(char** argv) {
    const int persona = personality(0xffffffff);
    if (persona != -1 && (persona & ADDR_NO_RANDOMIZE) == 0 &&
        personality(static_cast<unsigned long>(persona) | ADDR_NO_RANDOMIZE) != -1) {
        execv(argv[0], argv);
    }
}

void leave_gap(Coin& layout) {
    mmap(nullptr, kPage * (1 + layout.below(512)), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

Regions map_regions(char** argv, Coin& layout) {
    Regions regions;
    leave_gap(layout);
    regions.door = Mapping(std::atoi(argv[2]), kDoorBytes, true);
    leave_gap(layout);
    regions.plan = Mapping(std::atoi(argv[3]), sizeof(Plan), false);
    leave_gap(layout);
    regions.inputs = Mapping(std::atoi(argv[4]), std::strtoull(argv[5], nullptr, 10), false);
    leave_gap(layout);
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

// Write the arguments' lines back and drop them from every cache: the call then finds its data in memory only.
void chill(const Plan& plan, const Call& call, std::uint64_t slot) {
    for (std::size_t i = 0; i < plan.tensors; ++i) {
        auto* bytes = static_cast<std::byte*>(call.tensors[i]);
        for (std::uint64_t at = 0; at < plan.slots[slot].tensors[i].bytes; at += kLine) {
            flush_line(bytes + at);
        }
    }
    await_flushes();
}

inline void drain_stores() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();  // non-temporal stores of an honest kernel must be visible at `done`
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// The one flag that a tracer cannot put back (ID) is a bit to remember by.
inline void reset_flags() {
#if defined(__x86_64__)
    __builtin_ia32_writeeflags_u64(0x202);
#endif
}

std::uint64_t await_token(const std::atomic<std::uint64_t>& flag) {
    std::uint64_t token = 0;
    while (token == 0) {
        token = flag.load(std::memory_order_acquire);
    }
    return token;
}

// Serves one batch. Before every one the timer puts this process back to where it says `sealed`:
// registers and memory, so that nothing the entrant has left can reach the code before `go`.
class Server {
public:
    Server(const Regions& regions, const Library& library)
        : regions_(regions),
          library_(library),
          door_(*reinterpret_cast<Door*>(regions.door.data())),
          plan_(*reinterpret_cast<const Plan*>(regions.plan.data())) {}

    [[noreturn]] void serve() {
        door_.inputs_address = reinterpret_cast<std::uintptr_t>(regions_.inputs.data());
        door_.outputs_address = reinterpret_cast<std::uintptr_t>(regions_.outputs.data());
        door_.stack_limit = library_.stack_end - kStackBytes;
        door_.sealed.store(1, std::memory_order_release);
        const std::uint64_t prepared = await_token(door_.prepare);
        reset_flags();
        wipe_stack_from(door_.wipe_from);
        restore(library_);
        take_arguments();
        door_.ready.store(prepared, std::memory_order_release);
        const std::uint64_t gone = await_token(door_.go);
        for (std::uint64_t i = 0; i < plan_.count; ++i) {
            library_.entry(calls_[i].tensors.data(), calls_[i].scalars.data());
        }
        drain_stores();
        door_.done.store(gone, std::memory_order_release);
        for (;;) {
        }
    }

private:
    void take_arguments() {
        for (std::uint64_t i = 0; i < plan_.count; ++i) {
            resolve(regions_, plan_, plan_.order[i], calls_[i]);
        }
        for (std::uint64_t i = 0; i < plan_.count; ++i) {
            touch(plan_, calls_[i], plan_.order[i]);
            if (plan_.is_cold != 0) {
                chill(plan_, calls_[i], plan_.order[i]);
            }
        }
    }

    const Regions& regions_;
    const Library& library_;
    Door& door_;
    const Plan& plan_;
    std::array<Call, kMaxSlots> calls_{};
};

struct Range {
    std::uintptr_t begin;
    std::size_t bytes;
};

// The system's clock pages, which can be read without a system call or a counter.
std::vector<Range> find_clock_pages() {
    std::ifstream maps("/proc/self/maps");
    std::vector<Range> pages;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        const bool is_clock = line.find("[vvar") != std::string::npos || line.find("[vdso]") != std::string::npos;
        if (is_clock && std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2) {
            pages.push_back({begin, end - begin});
        }
    }
    return pages;
}

// After the last use of the dynamic linker, which keeps one of them in its list of libraries.
bool unmap_all(const std::vector<Range>& pages) {
    return std::ranges::all_of(pages, [](const Range& page) {
        return munmap(reinterpret_cast<void*>(page.begin), page.bytes) == 0;
    });
}

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
    if (argc != 11) {
        return kUsage;
    }
    stop_random_addresses(argv);
    Coin layout(std::strtoull(argv[10], nullptr, 10));
    auto* gap = static_cast<volatile char*>(alloca(16 * (1 + layout.below(kPage / 16))));
    *gap = 0;
    pin(std::atoi(argv[9]));
    static Regions regions = map_regions(argv, layout);
    if (!all_mapped(regions)) {
        return kMap;
    }
    if (!say_hello(std::atoi(argv[1]))) {
        return kHello;
    }
    const rlimit stack{kStackBytes, kStackBytes};
    setrlimit(RLIMIT_STACK, &stack);
    const std::vector<Range> clock_pages = find_clock_pages();
    // Before the library is loaded: its constructors must find no descriptor to map or write.
    if (close_range(0, ~0U, 0) != 0 || !seal_for_loading()) {
        return kSeal;
    }
    leave_gap(layout);
    static const Library library = load_library(argv[8]);
    if (library.entry == nullptr) {
        return kLoad;
    }
    static Server server(regions, library);
    if (!unmap_all(clock_pages) || !seal_for_serving()) {
        return kSeal;
    }
    server.serve();
}
