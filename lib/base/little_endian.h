// Integers in files are little endian, whatever the machine.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace sti {

static_assert(std::endian::native == std::endian::little, "big-endian hosts are not supported yet");

template <std::unsigned_integral T>
T LoadLittle(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

template <std::unsigned_integral T>
void StoreLittle(uint8_t* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(value));
}

}  // namespace sti
