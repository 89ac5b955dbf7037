// A sitting of one case in one set of processes: rounds of batches, each contestant woken alone, all judged.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "coin.hpp"
#include "contestant.hpp"
#include "judge.hpp"
#include "shared.hpp"

namespace zoo {

struct PoolInput {
    std::size_t tensor;
    std::size_t bytes;
    std::size_t offset;
};

struct PoolOutput {
    std::size_t tensor;
    Dtype dtype;
    std::size_t elements;
    std::size_t lo_offset;
    std::size_t hi_offset;
};

// K ready-made sets of inputs with the bounds of their outputs; set k begins at `base + k * stride`.
struct Pool {
    std::size_t base;
    std::size_t stride;
    std::size_t sets;
    std::vector<PoolInput> inputs;
    std::vector<PoolOutput> outputs;
};

// A case is given `rounds` rounds, fewer (but `least_rounds`) when `budget_ns` is spent before, and more while its
// ratios are not settled and `patience_ns` is not spent.
struct Terms {
    std::uint64_t seed;
    std::size_t rounds;
    std::size_t least_rounds;
    std::uint64_t budget_ns;
    std::uint64_t patience_ns;
    std::uint64_t timeout_ns;
    std::size_t batch;
};

struct Flaw {
    std::string what;  // died late early wrong wrong_at_done red_zone
    std::size_t contestant = 0;
    std::size_t tensor = 0;
    std::size_t index = 0;
};

struct Range {
    std::size_t begin;
    std::size_t bytes;
};

class Sitting {
public:
    Sitting(std::span<Contestant> contestants, const Shared& shared, const Mapping& pool, Pool sets, Terms terms);

    // What an empty batch takes: the lower quartile of many, for other work only adds. The same for all contestants: they ring at one door.
    bool measure_null(std::size_t contestant, std::uint64_t& null_ns);

    // The least of up to `calls` batches of one call, fewer where they are long: the pilot.
    bool least_call(std::size_t contestant, std::size_t calls, std::uint64_t& least_ns);

    // One batch with set number `set` in one of its slots, which may be one behind the pool's; writes which slot.
    bool audit(std::size_t contestant, std::size_t set, std::size_t& slot);

    // All rounds; writes one line "batch ROUND HALF CONTESTANT NS" each. False: see flaw().
    bool run(std::ostream& lines);

    [[nodiscard]] const Flaw& flaw() const { return flaw_; }

private:
    // A line of one output, copied at `done`.
    struct Part {
        std::size_t output;
        std::size_t slot;
        std::size_t begin;
        std::size_t elements;
        std::size_t at;
    };

    void deal();
    void write_inputs();
    void poison_outputs();
    bool batch(std::size_t index, std::uint64_t& elapsed_ns);
    bool unjudged(std::size_t index, std::span<const std::size_t> slots, std::uint64_t& elapsed_ns);
    bool make_ready(std::size_t index, std::span<const std::size_t> slots);
    bool reply_is_done(Reply reply, std::size_t index);
    void plan_snapshot();
    void take_snapshot();
    bool judge(std::size_t index, std::span<const std::size_t> slots);
    bool judge_slot(std::size_t index, std::size_t slot);
    bool judge_slot_or_wait(std::size_t index, std::size_t slot);
    bool is_finished_late(std::size_t index, std::size_t slot);
    bool judge_snapshot(std::size_t index);
    bool judge_red_zones(std::size_t index, std::size_t slot);
    bool run_half(std::size_t round, std::size_t half, std::span<const std::size_t> turn, std::ostream& lines);
    [[nodiscard]] bool is_enough(std::size_t rounds, std::uint64_t elapsed_ns) const;
    [[nodiscard]] bool is_settled() const;
    bool fail(std::string what, std::size_t contestant, std::size_t tensor = 0, std::size_t at = 0);
    [[nodiscard]] const double* bound(std::size_t slot, std::size_t offset) const;

    std::span<Contestant> contestants_;
    const Shared& shared_;
    const Plan& plan_;
    const Mapping& pool_;
    Pool sets_;
    Terms terms_;
    Coin coin_;
    std::uint64_t red_pattern_;
    std::vector<Range> gaps_;
    std::vector<std::size_t> set_of_slot_;
    std::vector<std::size_t> order_;
    std::vector<Part> parts_;
    std::vector<std::byte> snapshot_;
    std::vector<std::vector<std::uint64_t>> least_ns_;  // by contestant, the lesser batch of each round
    Flaw flaw_;
};

}  // namespace zoo
