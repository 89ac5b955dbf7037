// The limits of one core, measured: bytes per second at each level of memory, operations per second of each unit.
//
// usage: roofline CORE LEVEL=BYTES …    the last level is memory, whose stores go past the caches
// It answers in lines NAME VALUE: `progress FRACTION` while it works, then `LEVEL.KIND BYTES_PER_SECOND` and
// `UNIT OPERATIONS_PER_SECOND`. A value is the best of 15 repetitions, spread over the whole of its time.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bandwidth.hpp"
#include "descriptor.hpp"
#include "mapping.hpp"
#include "peaks.hpp"

namespace {

using namespace zoo;

constexpr int kSweeps = 5;
constexpr int kRepetitions = 3;
// From then on a figure gets no more repetitions, if it has had one: with a slow memory they would take seconds.
constexpr std::uint64_t kEnoughNs = 1'400'000'000;
constexpr unsigned kLastSecond = 30;

enum Failure { kUsage = 90, kMap = 91, kPin = 92 };

bool pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(core), &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::vector<WorkingSet> working_sets(int count, char** words) {
    std::vector<WorkingSet> sets;
    for (int i = 0; i < count; ++i) {
        const std::string word = words[i];
        const std::size_t equals = word.find('=');
        const std::size_t bytes = equals == std::string::npos ? 0 : std::strtoull(&word[equals + 1], nullptr, 10);
        if (bytes == 0) {
            return {};
        }
        sets.push_back({word.substr(0, equals), bytes, i + 1 == count});
    }
    return sets;
}

// Memory of the kind that kernels work on: a roof must be one that they can reach.
Mapping memory_for(const std::vector<WorkingSet>& sets) {
    std::size_t room = 0;
    for (const WorkingSet& set : sets) {
        room = std::max(room, room_for(set));
    }
    const Descriptor descriptor(memfd_create("zoo-roofline", MFD_CLOEXEC));
    if (ftruncate(descriptor.number(), static_cast<off_t>(room)) != 0) {
        return {};
    }
    Mapping memory(descriptor.number(), room, true);
    if (memory.is_mapped()) {
        std::fill_n(reinterpret_cast<float*>(memory.data()), room / sizeof(float), 1.0F);
    }
    return memory;
}

std::vector<Figure> all_figures(const std::vector<WorkingSet>& sets, const Mapping& memory) {
    std::vector<Figure> figures = peak_figures();
    for (const WorkingSet& set : sets) {
        for (Figure& figure : bandwidth_figures(set, memory.data())) {
            figures.push_back(std::move(figure));
        }
    }
    return figures;
}

void measure(std::vector<Figure>& figures, std::uint64_t begin) {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        for (Figure& figure : figures) {
            for (int i = 0; i < kRepetitions && (!figure.is_measured() || now_ns() - begin < kEnoughNs); ++i) {
                figure.repeat();
            }
        }
        std::printf("progress %.3f\n", static_cast<double>(sweep + 1) / kSweeps);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t begin = now_ns();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(kLastSecond);
    const auto sets = argc < 3 ? std::vector<WorkingSet>{} : working_sets(argc - 2, argv + 2);
    if (sets.empty()) {
        return kUsage;
    }
    if (!pin(std::atoi(argv[1]))) {
        return kPin;
    }
    setpriority(PRIO_PROCESS, 0, -20);
    const Mapping memory = memory_for(sets);
    if (!memory.is_mapped()) {
        return kMap;
    }
    std::vector<Figure> figures = all_figures(sets, memory);
    measure(figures, begin);
    for (const Figure& figure : figures) {
        std::printf("%s %.6e\n", figure.name.c_str(), figure.rate());
    }
    return 0;
}
