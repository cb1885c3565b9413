#include "types/finite.h"

#include <cstring>

namespace sti {
namespace {

// NaN and the infinities have all bits of the exponent set. Adding the lowest of them to those bits
// then carries into the sign's place, and nowhere else. No branch, so that compilers make vectors
// of it.
template <typename Word>
bool NoneCarries(std::span<const uint8_t> values, Word exponent) {
  constexpr auto kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  const auto lowest = static_cast<Word>(exponent & (~exponent + 1U));
  Word carries = 0;
  for (size_t at = 0; at + sizeof(Word) <= values.size(); at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, values.data() + at, sizeof(word));
    carries = static_cast<Word>(carries | static_cast<Word>((word & exponent) + lowest));
  }
  return (carries & kSign) == 0;
}

}  // namespace

bool AllFinite(DataType type, std::span<const uint8_t> values) {
  if (type == DataType::kF32) return NoneCarries<uint32_t>(values, 0x7F800000U);
  return NoneCarries<uint16_t>(values, type == DataType::kF16 ? 0x7C00U : 0x7F80U);
}

bool AllFinite(std::span<const float> numbers) {
  return AllFinite(DataType::kF32,
                   {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()});
}

}  // namespace sti
