// Arithmetic on numbers that came from a file: every step says when it overflows.
#pragma once

#include <cstdint>
#include <optional>

namespace sti {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Returns whether [offset, offset + length) lies inside [0, size).
inline bool RangeFits(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

/// Returns `value` rounded up to a multiple of `unit`, a power of two. The caller bounds `value`.
constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) & ~(unit - 1);
}
constexpr uint64_t RoundDown(uint64_t value, uint64_t unit) { return value & ~(unit - 1); }

}  // namespace sti
