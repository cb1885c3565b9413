// Digests and checksums, all of the XXH3 family: they find accidents and mix-ups, not forgers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sti {

/// 128 bits that name contents (XXH3-128, big-endian canonical form).
struct Digest {
  std::array<uint8_t, 16> bytes{};
  friend bool operator==(const Digest&, const Digest&) = default;
  [[nodiscard]] bool empty() const { return *this == Digest{}; }
  [[nodiscard]] std::string Hex() const;     ///< 32 lower-case hexadecimal digits
  [[nodiscard]] std::string Prefix() const;  ///< the first 8 digits and an ellipsis, for messages
};

/// Reads 32 hexadecimal digits.
Result<Digest> ParseDigest(std::string_view hex);

/// Returns the XXH3-64 of `data`, the checksum of every part of a file.
uint64_t Checksum(std::span<const uint8_t> data, uint64_t seed = 0);

/// A digest fed piece by piece. One thread at a time.
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;

  void Add(std::span<const uint8_t> data);
  void Add(std::string_view text);  ///< length first, so that ("a", "bc") differs from ("ab", "c")
  void AddNumber(uint64_t number);  ///< eight bytes, little endian
  [[nodiscard]] Digest Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sti
