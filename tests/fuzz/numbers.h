// Bytes as numbers and texts, for targets whose input says what to do.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "fuzz/targets.h"

namespace sti::fuzz {

/// Numbers off the front of the input; zeros behind its end.
class Numbers {
 public:
  explicit Numbers(Input input) : rest_(input) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  template <typename Number>
  Number Take() {
    std::array<uint8_t, sizeof(Number)> bytes{};
    const size_t count = std::min(bytes.size(), rest_.size());
    std::copy_n(rest_.begin(), count, bytes.begin());
    rest_ = rest_.subspan(count);
    return std::bit_cast<Number>(bytes);
  }
  uint64_t Below(uint64_t limit) { return limit == 0 ? 0 : Take<uint16_t>() % limit; }
  /// A number near the ends of its type, near `now`, or any.
  uint64_t Near(uint64_t now) {
    const auto way = Take<uint8_t>();
    if (way < 64) return now + way % 8 - 4;
    if (way < 128) return uint64_t{1} << (way - 64);
    if (way < 192) return (uint64_t{1} << (way - 128)) - 1;
    return way < 224 ? way - 192U : Take<uint64_t>();
  }
  std::string Text() {
    std::string text;
    for (uint64_t left = Below(256); left > 0; --left) text += Take<char>();
    return text;
  }

 private:
  Input rest_;
};

}  // namespace sti::fuzz
