// The bits of a shard are known when it runs; here they become a constant, for code that was
// compiled for each of them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace sti {

/// Calls f(kBits), where kBits is a constant that equals `bits`: 2 to 6. More than six, which
/// nobody gives, are six.
template <typename F>
void WithBits(uint32_t bits, const F& f) {
  switch (bits) {
    case 2:
      return f(std::integral_constant<uint32_t, 2>());
    case 3:
      return f(std::integral_constant<uint32_t, 3>());
    case 4:
      return f(std::integral_constant<uint32_t, 4>());
    case 5:
      return f(std::integral_constant<uint32_t, 5>());
    default:
      return f(std::integral_constant<uint32_t, 6>());
  }
}

}  // namespace sti
