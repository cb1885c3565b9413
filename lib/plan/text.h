// Numbers as the planner's messages spell them.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace sti {

inline std::string FixedPoint(double value, int digits) {
  std::array<char, 400> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, digits);
  return {text.data(), end.ptr};
}

inline std::string Fixed3(double value) { return FixedPoint(value, 3); }
inline std::string Fixed4(double value) { return FixedPoint(value, 4); }

/// "12.345 ms"
inline std::string Ms(double time_us) { return Fixed3(time_us / 1000) + " ms"; }

/// Rounded up to a whole microsecond and written as an option takes it: "12.346ms".
inline std::string MsUp(double time_us) { return Fixed3(std::ceil(time_us - 1e-3) / 1000) + "ms"; }

}  // namespace sti
