// Sums of whole numbers that are exact, whatever the order and the grouping.
#pragma once

#include <cstdint>

#include "types/importance_part.h"

namespace sti {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

inline Uint128 ToUint128(const WideNumber& number) {
  return Uint128{number.high} << 64 | number.low;
}

inline WideNumber ToWide(Uint128 number) {
  return {static_cast<uint64_t>(number), static_cast<uint64_t>(number >> 64)};
}

/// Adds modulo 2^128.
inline void AddTo(WideNumber& sum, Uint128 number) { sum = ToWide(ToUint128(sum) + number); }

/// `number` as two's complement.
inline double SignedToDouble(const WideNumber& number) {
  return static_cast<double>(static_cast<Int128>(ToUint128(number)));
}
inline double UnsignedToDouble(const WideNumber& number) {
  return static_cast<double>(ToUint128(number));
}

}  // namespace sti
