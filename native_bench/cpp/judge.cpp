#include "judge.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace zoo {
namespace {

constexpr std::size_t kBlock = 256;

// Blocks without an early exit, so that the common case (all right) is vectorised.
template <class T, class Read>
std::optional<std::size_t> scan(const std::byte* output, const double* lo, const double* hi, std::size_t elements,
                                Read read) {
    const auto* values = reinterpret_cast<const T*>(output);
    for (std::size_t begin = 0; begin < elements; begin += kBlock) {
        const std::size_t end = std::min(elements, begin + kBlock);
        unsigned wrong = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const double value = read(values[i]);
            wrong |= static_cast<unsigned>(!((value >= lo[i]) & (value <= hi[i])));
        }
        for (std::size_t i = begin; wrong != 0 && i < end; ++i) {
            const double value = read(values[i]);
            if (!(value >= lo[i] && value <= hi[i])) {
                return i;
            }
        }
    }
    return std::nullopt;
}

std::optional<std::size_t> scan_words(const std::byte* output, const double* expected, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
        if (std::memcmp(output + i * 8, expected + i, 8) != 0) {
            return i;
        }
    }
    return std::nullopt;
}

template <class T>
double plain(T value) {
    return static_cast<double>(value);
}

}  // namespace

std::size_t size_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::fp64:
        case Dtype::i64:
        case Dtype::u64:
            return 8;
        case Dtype::fp32:
        case Dtype::i32:
        case Dtype::u32:
            return 4;
        case Dtype::fp16:
        case Dtype::bf16:
        case Dtype::i16:
        case Dtype::u16:
            return 2;
        case Dtype::i8:
        case Dtype::u8:
            return 1;
    }
    return 0;
}

double half_value(std::uint16_t bits) {
    const int exponent = bits >> 10U & 0x1fU;
    const double fraction = bits & 0x3ffU;
    double value = 0;
    if (exponent == 0x1f) {
        value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
        value = std::ldexp(fraction, -24);
    } else {
        value = std::ldexp(1024 + fraction, exponent - 25);
    }
    return (bits & 0x8000U) != 0 ? -value : value;
}

double bfloat_value(std::uint16_t bits) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
}

std::optional<std::size_t> first_wrong(Dtype dtype, const std::byte* output, const double* lo, const double* hi,
                                       std::size_t elements) {
    switch (dtype) {
        case Dtype::fp64:
            return scan<double>(output, lo, hi, elements, plain<double>);
        case Dtype::fp32:
            return scan<float>(output, lo, hi, elements, plain<float>);
        case Dtype::fp16:
            return scan<std::uint16_t>(output, lo, hi, elements, half_value);
        case Dtype::bf16:
            return scan<std::uint16_t>(output, lo, hi, elements, bfloat_value);
        case Dtype::i8:
            return scan<std::int8_t>(output, lo, hi, elements, plain<std::int8_t>);
        case Dtype::i16:
            return scan<std::int16_t>(output, lo, hi, elements, plain<std::int16_t>);
        case Dtype::i32:
            return scan<std::int32_t>(output, lo, hi, elements, plain<std::int32_t>);
        case Dtype::u8:
            return scan<std::uint8_t>(output, lo, hi, elements, plain<std::uint8_t>);
        case Dtype::u16:
            return scan<std::uint16_t>(output, lo, hi, elements, plain<std::uint16_t>);
        case Dtype::u32:
            return scan<std::uint32_t>(output, lo, hi, elements, plain<std::uint32_t>);
        case Dtype::i64:
        case Dtype::u64:
            return scan_words(output, lo, elements);
    }
    return 0;
}

}  // namespace zoo
