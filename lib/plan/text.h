// Numbers as the planner's messages spell them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace sti {

/// Returns a number with `digits` digits behind the point, "12.35" with two; it is a point in any
/// locale. The standard library's own takes 100 kB of tables. A number of more digits than a double
/// has is a whole one.
inline std::string FixedPoint(double value, int digits) {
  if (!(std::abs(value) < 1e10)) {
    std::array<char, 400> text;
    std::snprintf(text.data(), text.size(), "%.0f", value);
    return text.data();
  }
  double scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const auto units = static_cast<int64_t>(std::llround(std::abs(value) * scale));
  std::string text = std::to_string(units);
  const auto behind = static_cast<size_t>(digits);
  if (text.size() <= behind) text.insert(0, behind + 1 - text.size(), '0');
  if (digits > 0) text.insert(text.size() - behind, ".");
  return value < 0 && units != 0 ? "-" + text : text;
}

inline std::string Fixed3(double value) { return FixedPoint(value, 3); }
inline std::string Fixed4(double value) { return FixedPoint(value, 4); }

/// Returns a time as "12.345 ms".
inline std::string Ms(double time_us) { return Fixed3(time_us / 1000) + " ms"; }

/// Returns a time rounded up to a whole microsecond and written as an option takes it: "12.346ms".
inline std::string MsUp(double time_us) { return Fixed3(std::ceil(time_us - 1e-3) / 1000) + "ms"; }

}  // namespace sti
