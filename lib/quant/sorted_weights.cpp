#include "quant/sorted_weights.h"

#include <array>
#include <bit>

namespace sti {
namespace {

constexpr uint32_t kSign = 0x80000000U;
constexpr int kDigitBits = 11;
constexpr uint32_t kDigits = 1U << kDigitBits;
constexpr int kPasses = 3;

uint32_t DigitOf(uint32_t key, int pass) { return (key >> (pass * kDigitBits)) & (kDigits - 1); }

}  // namespace

uint32_t SortKey(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (bits == kSign) bits = 0;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

float ValueOfKey(uint32_t key) {
  return std::bit_cast<float>((key & kSign) != 0 ? key & ~kSign : ~key);
}

void SortKeys(std::vector<uint32_t>& keys) {
  std::vector<std::array<uint32_t, kPasses>> counts(kDigits);
  for (uint32_t key : keys) {
    for (int pass = 0; pass < kPasses; ++pass) ++counts[DigitOf(key, pass)][pass];
  }
  std::vector<uint32_t> other(keys.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    std::array<uint32_t, kDigits> next{};
    uint32_t begin = 0;
    for (uint32_t digit = 0; digit < kDigits; ++digit) {
      next[digit] = begin;
      begin += counts[digit][pass];
    }
    for (uint32_t key : keys) other[next[DigitOf(key, pass)]++] = key;
    keys.swap(other);
  }
}

}  // namespace sti
