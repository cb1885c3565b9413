// The two 16-bit floats of weight files, widened exactly to float.
#pragma once

#include <bit>
#include <cstdint>

#include "base/little_endian.h"

namespace sti {

/// Converts IEEE binary16 to float; exact for every input, subnormals, infinities and NaN included.
inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t fraction = half & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  // Zero or subnormal: the fraction counts units of 2^-24, a product float holds exactly.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

/// Converts bfloat16 to float: the same number with sixteen more zero bits.
inline float BFloatToFloat(uint16_t bfloat) {
  return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16);
}

/// Converts float to IEEE binary16, to the nearest, ties to even; too large becomes infinity.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7C00u);  // 2^16 and up
  if (magnitude < 0x38800000u) {
    // Below 2^-14 the spacing is 2^-24, which is the spacing of floats at 0.5.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3F000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
}

/// Converts float to bfloat16, to the nearest, ties to even.
inline uint16_t FloatToBFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// Each of these loads a little-endian number from bytes of any alignment.
inline float LoadF32(const uint8_t* bytes) {
  return std::bit_cast<float>(LoadLittle<uint32_t>(bytes));
}
inline float LoadF16(const uint8_t* bytes) { return HalfToFloat(LoadLittle<uint16_t>(bytes)); }
inline float LoadBF16(const uint8_t* bytes) { return BFloatToFloat(LoadLittle<uint16_t>(bytes)); }

}  // namespace sti
