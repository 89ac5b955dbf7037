// Is an output within the bounds that the reference allows? Pure: memory in, first wrong index out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace zoo {

enum class Dtype : std::uint64_t { fp64, fp32, fp16, bf16, i8, i16, i32, i64, u8, u16, u32, u64 };

std::size_t size_of(Dtype dtype);

// fp16 and bf16 are stored as bits.
double half_value(std::uint16_t bits);
double bfloat_value(std::uint16_t bits);

// The first element outside [lo, hi]; a NaN is never inside. 64-bit integers are compared with the
// bytes of `lo` read as the same type, for a double cannot hold them.
std::optional<std::size_t> first_wrong(Dtype dtype, const std::byte* output, const double* lo, const double* hi,
                                       std::size_t elements);

}  // namespace zoo
