#include "base/digest.h"

// Compiled into this file: short keys, such as tokens, cost less than a call into a shared library.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <new>

namespace sti {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Digest::Hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(32);
  for (uint8_t byte : bytes) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

std::string Digest::Prefix() const { return Hex().substr(0, 8) + "…"; }

Result<Digest> ParseDigest(std::string_view hex) {
  Digest digest;
  if (hex.size() != 32) return DataError("a digest has 32 hexadecimal digits");
  for (size_t i = 0; i < 16; ++i) {
    int high = HexValue(hex[2 * i]);
    int low = HexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) return DataError("a digest has 32 hexadecimal digits");
    digest.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return digest;
}

uint64_t Checksum(std::span<const uint8_t> data, uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

struct Digester::State {
  XXH3_state_t* hash = XXH3_createState();
  State() {
    if (hash == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(hash);
  }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Digester::Digester() : state_(std::make_unique<State>()) {}
Digester::~Digester() = default;
Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;

void Digester::Add(std::span<const uint8_t> data) {
  XXH3_128bits_update(state_->hash, data.data(), data.size());
}

void Digester::Add(std::string_view text) {
  AddNumber(text.size());
  XXH3_128bits_update(state_->hash, text.data(), text.size());
}

void Digester::AddNumber(uint64_t number) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  XXH3_128bits_update(state_->hash, bytes, sizeof(bytes));
}

Digest Digester::Finish() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->hash));
  Digest digest;
  std::memcpy(digest.bytes.data(), canonical.digest, digest.bytes.size());
  return digest;
}

}  // namespace sti
