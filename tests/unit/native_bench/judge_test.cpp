// Run under AddressSanitizer and UndefinedBehaviorSanitizer by test_judge.py.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "judge.hpp"
#include "poison.hpp"

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
    if (!condition) {
        std::printf("failed: %s\n", what);
        ++failures;
    }
}

template <class T>
const std::byte* bytes(const std::vector<T>& values) {
    return reinterpret_cast<const std::byte*>(values.data());
}

void judges_floats() {
    std::vector<float> values(1000, 1.0F);
    const std::vector<double> lo(1000, 0.5);
    const std::vector<double> hi(1000, 1.5);
    using zoo::Dtype;
    expect(!zoo::first_wrong(Dtype::fp32, bytes(values), lo.data(), hi.data(), 1000), "all within");
    for (const float wrong : {0.4F, 1.6F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
        values[777] = wrong;
        expect(zoo::first_wrong(Dtype::fp32, bytes(values), lo.data(), hi.data(), 1000) == 777, "one outside");
    }
    expect(!zoo::first_wrong(Dtype::fp32, bytes(values), lo.data(), hi.data(), 0), "nothing is right");
}

void judges_words() {
    std::vector<std::int64_t> values{1, (std::int64_t{1} << 62) + 1};
    std::vector<double> expected(2);
    std::memcpy(expected.data(), values.data(), 16);
    expect(!zoo::first_wrong(zoo::Dtype::i64, bytes(values), expected.data(), expected.data(), 2), "same words");
    ++values[1];
    expect(zoo::first_wrong(zoo::Dtype::i64, bytes(values), expected.data(), expected.data(), 2) == 1, "other word");
}

void reads_halves() {
    expect(zoo::half_value(0x3c00) == 1 && zoo::half_value(0xc000) == -2, "halves");
    expect(zoo::half_value(1) == std::ldexp(1, -24) && std::isinf(zoo::half_value(0x7c00)), "odd halves");
    expect(std::isnan(zoo::half_value(0x7e00)) && zoo::bfloat_value(0x3f80) == 1, "nan and bfloat");
}

void poisons_every_type() {
    zoo::Coin coin(7);
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t pattern = zoo::nan_pattern(coin);
        double wide = 0;
        float narrow[2];
        std::uint16_t halves[4];
        std::memcpy(&wide, &pattern, 8);
        std::memcpy(narrow, &pattern, 8);
        std::memcpy(halves, &pattern, 8);
        expect(std::isnan(wide) && std::isnan(narrow[0]) && std::isnan(narrow[1]), "wide poison");
        for (const std::uint16_t half : halves) {
            expect(std::isnan(zoo::half_value(half)) && std::isnan(zoo::bfloat_value(half)), "half poison");
        }
    }
}

void sees_one_changed_byte() {
    std::vector<std::byte> zone(100);
    const std::uint64_t pattern = 0x0123456789abcdef;
    zoo::fill(zone, pattern);
    expect(!zoo::first_change(zone, pattern), "untouched");
    const std::span<const std::byte> part(zone);
    for (std::size_t phase = 0; phase < 8; ++phase) {
        expect(!zoo::first_change(part.subspan(phase), pattern, phase), "untouched from any phase");
    }
    zone[99] ^= std::byte{1};
    expect(zoo::first_change(zone, pattern).has_value(), "the last byte");
}

}  // namespace

int main() {
    judges_floats();
    judges_words();
    reads_halves();
    poisons_every_type();
    sees_one_changed_byte();
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
