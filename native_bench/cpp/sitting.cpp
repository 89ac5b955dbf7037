#include "sitting.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <ostream>
#include <thread>
#include <utility>

#include "clock.hpp"
#include "poison.hpp"

namespace zoo {
namespace {

constexpr std::size_t kRedZoneBytes = 512;
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kSnapshotLines = 160;
constexpr std::size_t kJudgedElements = std::size_t{1} << 15U;
constexpr std::size_t kNullBatches = 101;
constexpr std::size_t kLeastPilotCalls = 3;
constexpr std::uint64_t kPilotBudgetNs = 200'000'000;
// The standard error of a ratio's log that is good enough: 0.1 %, and 0.2 % more for each factor of e.
constexpr double kSettled = 0.001;
constexpr double kSettledPerLog = 0.002;
constexpr std::size_t kRoundsPerLook = 20;

// Where the outputs of the first `slots` slots lie, in the order of their addresses.
std::vector<Range> places_of_outputs(const Plan& plan, std::size_t slots) {
    std::vector<Range> places;
    for (std::size_t slot = 0; slot < slots; ++slot) {
        for (const Tensor& tensor : std::span(plan.slots[slot].tensors, plan.tensors)) {
            if (tensor.region != kRegionInputs) {
                places.push_back({tensor.offset, tensor.bytes});
            }
        }
    }
    std::ranges::sort(places, {}, &Range::begin);
    return places;
}

// What lies before, between and behind the places: the last gap holds the last red zone and ends with a page.
std::vector<Range> gaps_between(const std::vector<Range>& places) {
    std::vector<Range> gaps;
    std::size_t at = 0;
    for (const Range& place : places) {
        gaps.push_back({at, place.begin - at});
        at = place.begin + place.bytes;
    }
    const std::size_t end = (at + kRedZoneBytes + kPage - 1) / kPage * kPage;
    gaps.push_back({at, end - at});
    return gaps;
}

}  // namespace

Sitting::Sitting(std::span<Contestant> contestants, const Shared& shared, const Mapping& pool, Pool sets, Terms terms)
    : contestants_(contestants),
      shared_(shared),
      plan_(shared.plan()),
      pool_(pool),
      sets_(std::move(sets)),
      terms_(terms),
      coin_(terms.seed),
      red_pattern_(coin_.bits()),
      gaps_(gaps_between(places_of_outputs(plan_, terms.batch))),
      set_of_slot_(terms.batch),
      snapshot_(kSnapshotLines * kLineBytes) {}

bool Sitting::fail(std::string what, std::size_t contestant, std::size_t tensor, std::size_t at) {
    flaw_ = {std::move(what), contestant, tensor, at};
    return false;
}

bool Sitting::reply_is_done(Reply reply, std::size_t index) {
    return reply == Reply::done || fail(name_of(reply), index);
}

// Written anew for each contestant, though the sets are the same: all find them in the same caches.
void Sitting::write_inputs() {
    for (const std::size_t slot : order_) {
        const std::byte* source = pool_.data() + sets_.base + set_of_slot_[slot] * sets_.stride;
        const Slot& target = plan_.slots[slot];
        for (const PoolInput& input : sets_.inputs) {
            std::memcpy(shared_.inputs.data() + target.tensors[input.tensor].offset, source + input.offset,
                        input.bytes);
        }
    }
}

// Each slot gets another set, drawn anew: no two calls of a batch see the same contents.
void Sitting::deal() {
    const std::vector<std::size_t> sets = coin_.permutation(sets_.sets);
    std::copy_n(sets.begin(), set_of_slot_.size(), set_of_slot_.begin());
    order_ = coin_.permutation(terms_.batch);
}

// Leave nothing of what the contestant has written: neither in its outputs nor between and behind them.
void Sitting::poison_outputs() {
    const Mapping& outputs = shared_.outputs;
    for (const Range& gap : gaps_) {
        fill({outputs.data() + gap.begin, gap.bytes}, red_pattern_, gap.begin);
    }
    const std::size_t end = gaps_.back().begin + gaps_.back().bytes;
    if (end < outputs.bytes()) {
        madvise(outputs.data() + end, outputs.bytes() - end, MADV_REMOVE);
    }
    const std::uint64_t pattern = nan_pattern(coin_);
    for (const std::size_t slot : order_) {
        for (const PoolOutput& output : sets_.outputs) {
            const Tensor& tensor = plan_.slots[slot].tensors[output.tensor];
            fill({outputs.data() + tensor.offset, tensor.bytes}, pattern);
        }
    }
}

// The contestant is stopped. From here to the next `go` no code of the entrant runs, and nothing is left of
// what it has written: not in its outputs, its memory, its registers.
bool Sitting::make_ready(std::size_t index, std::span<const std::size_t> slots) {
    Contestant& contestant = contestants_[index];
    Plan& plan = shared_.plan();
    plan.count = slots.size();
    std::copy(slots.begin(), slots.end(), plan.order);
    if (!contestant.return_to_checkpoint()) {
        return fail("died", index);
    }
    return reply_is_done(contestant.prepare(coin_.token(), terms_.timeout_ns), index);
}

// A call of these slots (none: an empty batch) whose outputs nobody judges here.
bool Sitting::unjudged(std::size_t index, std::span<const std::size_t> slots, std::uint64_t& elapsed_ns) {
    Contestant& contestant = contestants_[index];
    return make_ready(index, slots) &&
           reply_is_done(contestant.ring(coin_.token(), terms_.timeout_ns, elapsed_ns), index) &&
           (contestant.stop() || fail("died", index));
}

bool Sitting::batch(std::size_t index, std::uint64_t& elapsed_ns) {
    Contestant& contestant = contestants_[index];
    write_inputs();
    poison_outputs();
    plan_snapshot();
    if (!make_ready(index, order_)) {
        return false;
    }
    const Reply reply = contestant.ring(coin_.token(), terms_.timeout_ns, elapsed_ns);
    take_snapshot();  // at once: a kernel that said done too early is still writing
    if (!reply_is_done(reply, index)) {
        return false;
    }
    return contestant.stop() ? judge(index, order_) : fail("died", index);
}

// A batch like any other, with one set of another kind in a slot that nobody can foresee; nobody times it. What it
// has made of that set is left in the outputs, for whoever judges it.
bool Sitting::audit(std::size_t index, std::size_t set, std::size_t& slot) {
    deal();
    slot = order_[coin_.below(order_.size())];
    set_of_slot_[slot] = set;
    write_inputs();
    poison_outputs();
    std::uint64_t elapsed_ns = 0;
    return unjudged(index, order_, elapsed_ns) && judge_red_zones(index, slot);
}

// Lines drawn from all outputs of the batch alike: whichever part a kernel leaves for later, some of them lie in it,
// and the first is read within a tenth of a microsecond.
void Sitting::plan_snapshot() {
    std::vector<std::size_t> lines_of(sets_.outputs.size());
    std::ranges::transform(sets_.outputs, lines_of.begin(), [](const PoolOutput& output) {
        return (output.elements * size_of(output.dtype) + kLineBytes - 1) / kLineBytes;
    });
    const std::size_t per_slot = std::accumulate(lines_of.begin(), lines_of.end(), std::size_t{0});
    const std::size_t all = per_slot * order_.size();
    std::vector<std::size_t> chosen;
    if (all <= kSnapshotLines) {
        chosen = coin_.permutation(all);
    } else {
        chosen.resize(kSnapshotLines);
        std::ranges::generate(chosen, [&] { return coin_.below(all); });
    }
    parts_.clear();
    for (const std::size_t line : chosen) {
        std::size_t at = line % per_slot;
        std::size_t output = 0;
        while (at >= lines_of[output]) {
            at -= lines_of[output++];
        }
        const std::size_t per_line = kLineBytes / size_of(sets_.outputs[output].dtype);
        const std::size_t begin = at * per_line;
        const std::size_t elements = std::min(per_line, sets_.outputs[output].elements - begin);
        parts_.push_back({output, order_[line / per_slot], begin, elements, parts_.size() * kLineBytes});
    }
}

void Sitting::take_snapshot() {
    for (const Part& part : parts_) {
        const PoolOutput& output = sets_.outputs[part.output];
        const std::size_t element = size_of(output.dtype);
        const std::size_t offset = plan_.slots[part.slot].tensors[output.tensor].offset;
        std::memcpy(snapshot_.data() + part.at, shared_.outputs.data() + offset + part.begin * element,
                    part.elements * element);
    }
}

const double* Sitting::bound(std::size_t slot, std::size_t offset) const {
    return reinterpret_cast<const double*>(pool_.data() + sets_.base + set_of_slot_[slot] * sets_.stride + offset);
}

bool Sitting::judge_slot(std::size_t index, std::size_t slot) {
    for (const PoolOutput& output : sets_.outputs) {
        const std::size_t offset = plan_.slots[slot].tensors[output.tensor].offset;
        const auto wrong = first_wrong(output.dtype, shared_.outputs.data() + offset,
                                       bound(slot, output.lo_offset), bound(slot, output.hi_offset),
                                       output.elements);
        if (wrong) {
            return fail("wrong", index, output.tensor, *wrong);
        }
    }
    return true;
}

// What was wrong at `done` and is right now was written after it. Lines are of all slots, also of those not judged.
bool Sitting::judge_snapshot(std::size_t index) {
    for (const Part& part : parts_) {
        const PoolOutput& output = sets_.outputs[part.output];
        const auto wrong = first_wrong(output.dtype, snapshot_.data() + part.at,
                                       bound(part.slot, output.lo_offset) + part.begin,
                                       bound(part.slot, output.hi_offset) + part.begin, part.elements);
        if (wrong) {
            return judge_slot_or_wait(index, part.slot) && fail("wrong_at_done", index, output.tensor, part.begin + *wrong);
        }
    }
    return true;
}

bool Sitting::judge_red_zones(std::size_t index, std::size_t slot) {
    const Mapping& outputs = shared_.outputs;
    for (const PoolOutput& output : sets_.outputs) {
        const Tensor& tensor = plan_.slots[slot].tensors[output.tensor];
        for (const std::size_t begin : {tensor.offset - kRedZoneBytes, tensor.offset + tensor.bytes}) {
            if (first_change({outputs.data() + begin, kRedZoneBytes}, red_pattern_, begin)) {
                return fail("red_zone", index, output.tensor);
            }
        }
    }
    return true;
}

// Which outputs are judged is chosen here, after `done`: all of them where that is cheap.
bool Sitting::judge(std::size_t index, std::span<const std::size_t> slots) {
    std::size_t elements = 0;
    for (const PoolOutput& output : sets_.outputs) {
        elements += output.elements;
    }
    std::vector<std::size_t> chosen(slots.begin(), slots.end());
    coin_.shuffle(std::span<std::size_t>(chosen));
    chosen.resize(std::min(chosen.size(), std::max<std::size_t>(1, kJudgedElements / std::max<std::size_t>(1, elements))));
    for (const std::size_t slot : chosen) {
        if (!judge_slot_or_wait(index, slot)) {
            return false;
        }
        if (!judge_red_zones(index, slot)) {
            return false;
        }
    }
    return judge_snapshot(index);
}

// False with the flaw `wrong`, or with `wrong_at_done` where it only took longer than the kernel said.
bool Sitting::judge_slot_or_wait(std::size_t index, std::size_t slot) {
    if (judge_slot(index, slot)) {
        return true;
    }
    return is_finished_late(index, slot) && fail("wrong_at_done", index, flaw_.tensor, flaw_.index);
}

// A wrong output that comes right when its worker may run on: done was said before the work was.
bool Sitting::is_finished_late(std::size_t index, std::size_t slot) {
    const Flaw found = flaw_;
    Contestant& contestant = contestants_[index];
    bool is_right = false;
    if (contestant.resume()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        is_right = contestant.stop() && judge_slot(index, slot);
    }
    flaw_ = found;
    return is_right;
}

bool Sitting::measure_null(std::size_t contestant, std::uint64_t& null_ns) {
    std::vector<std::uint64_t> taken(kNullBatches);
    for (std::uint64_t& elapsed_ns : taken) {
        if (!unjudged(contestant, {}, elapsed_ns)) {
            return false;
        }
    }
    std::nth_element(taken.begin(), taken.begin() + kNullBatches / 4, taken.end());
    null_ns = taken[kNullBatches / 4];
    return true;
}

bool Sitting::least_call(std::size_t contestant, std::size_t calls, std::uint64_t& least_ns) {
    least_ns = ~std::uint64_t{0};
    const std::uint64_t begin = now_ns();
    for (std::size_t i = 0; i < calls && (i < kLeastPilotCalls || now_ns() - begin < kPilotBudgetNs); ++i) {
        std::uint64_t elapsed_ns = 0;
        deal();
        if (!batch(contestant, elapsed_ns)) {
            return false;
        }
        least_ns = std::min(least_ns, elapsed_ns);
    }
    return true;
}

bool Sitting::run_half(std::size_t round, std::size_t half, std::span<const std::size_t> turn, std::ostream& lines) {
    deal();
    for (const std::size_t index : turn) {
        std::uint64_t elapsed_ns = 0;
        if (!batch(index, elapsed_ns)) {
            return false;
        }
        std::uint64_t& least_ns = least_ns_[index].back();
        least_ns = half == 0 ? elapsed_ns : std::min(least_ns, elapsed_ns);
        lines << "batch " << round << ' ' << half << ' ' << index << ' ' << elapsed_ns << '\n';
    }
    return true;
}

// Judged by the spread, for which the ratio's size is only the scale: to stop at a pleasing one would flatter it.
bool Sitting::is_settled() const {
    const std::size_t rounds = least_ns_.front().size();
    std::vector<double> logs(rounds);
    for (std::size_t index = 1; index < least_ns_.size(); ++index) {
        std::ranges::transform(least_ns_[0], least_ns_[index], logs.begin(), [](std::uint64_t one, std::uint64_t other) {
            return std::log(static_cast<double>(one) / static_cast<double>(other));
        });
        std::ranges::sort(logs);
        // Of a normal spread: the quartiles are 1.349 deviations apart, a median errs 1.253 times as much as a mean.
        const double deviation = (logs[rounds * 3 / 4] - logs[rounds / 4]) / 1.349;
        const double error = 1.253 * deviation / std::sqrt(static_cast<double>(rounds));
        if (error > kSettled + kSettledPerLog * std::abs(logs[rounds / 2])) {
            return false;
        }
    }
    return true;
}

bool Sitting::is_enough(std::size_t rounds, std::uint64_t elapsed_ns) const {
    if (rounds < terms_.least_rounds) {
        return false;
    }
    if (rounds < terms_.rounds) {
        return elapsed_ns > terms_.budget_ns;
    }
    return elapsed_ns > terms_.patience_ns || (rounds % kRoundsPerLook == 0 && is_settled());
}

// A round is A B B A or B A A B by coin (A B C C B A with an incumbent): a linear drift cancels.
bool Sitting::run(std::ostream& lines) {
    const std::uint64_t begin = now_ns();
    least_ns_.assign(contestants_.size(), {});
    for (std::size_t round = 0; !is_enough(round, now_ns() - begin); ++round) {
        std::ranges::for_each(least_ns_, [](auto& rounds) { rounds.push_back(0); });
        std::vector<std::size_t> turn = coin_.permutation(contestants_.size());
        if (!run_half(round, 0, turn, lines)) {
            return false;
        }
        std::reverse(turn.begin(), turn.end());
        if (!run_half(round, 1, turn, lines)) {
            return false;
        }
    }
    return true;
}

}  // namespace zoo
