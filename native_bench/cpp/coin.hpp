// Random choices of a sitting (order, sets, poison, snapshot), all from the run's secret.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace zoo {

class Coin {
public:
    explicit Coin(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t bits() { return engine_(); }

    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

    // A token that no kernel can foresee; never 0, which is what the flags hold at the start.
    std::uint64_t token() { return engine_() | 1U; }

    template <class T>
    void shuffle(std::span<T> values) {
        for (std::size_t i = values.size(); i > 1; --i) {
            std::swap(values[i - 1], values[below(i)]);
        }
    }

    std::vector<std::size_t> permutation(std::size_t count) {
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        shuffle(std::span<std::size_t>(order));
        return order;
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace zoo
