// The kernels as google-benchmark times them when nothing is set: one call per iteration, its own choice of how many.
#include <benchmark/benchmark.h>

#include "call.hpp"

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    const std::vector<zoo::Call> calls = zoo::calls_of(argc, argv);
    for (const zoo::Call& call : calls) {
        benchmark::RegisterBenchmark(call.name().c_str(), [&call](benchmark::State& state) {
            for (auto _ : state) {
                call();
                benchmark::ClobberMemory();
            }
        });
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
