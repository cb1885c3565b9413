// Lays out one piece of memory.
#pragma once

#include <cstdint>

#include "base/checked.h"

namespace sti {

/// Hands out memory part after part, each aligned to a cache line as long as the first is.
class Carver {
 public:
  explicit Carver(uint8_t* begin) : next_(begin) {}

  template <typename T>
  T* Take(uint64_t count) {
    uint8_t* part = next_;
    next_ += Room<T>(count);
    return reinterpret_cast<T*>(part);
  }
  /// Bytes that Take moves on by.
  template <typename T>
  static constexpr uint64_t Room(uint64_t count) {
    return RoundUp(count * sizeof(T), 64);
  }

 private:
  uint8_t* next_;
};

}  // namespace sti
