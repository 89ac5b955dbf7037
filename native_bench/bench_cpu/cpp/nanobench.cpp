// The kernels as nanobench times them when nothing is set: the median of its epochs, in lines of NAME NS.
#define ANKERL_NANOBENCH_IMPLEMENT
#include <nanobench.h>

#include <cstdio>

#include "call.hpp"

int main(int argc, char** argv) {
    using ankerl::nanobench::Result;
    ankerl::nanobench::Bench bench;
    bench.output(nullptr);
    const std::vector<zoo::Call> calls = zoo::calls_of(argc, argv);
    for (const zoo::Call& call : calls) {
        bench.run(call.name(), [&call] { call(); });
    }
    for (const Result& result : bench.results()) {
        std::printf("%s %.4f\n", result.config().mBenchmarkName.c_str(),
                    1e9 * result.median(Result::Measure::elapsed));
    }
    return 0;
}
