#include "types/finite.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace sti {
namespace {

// Every number of 16 bits, alone, and behind one byte so that it is not aligned.
TEST(AllFinite, AgreesWithTheNumbersOf16Bits) {
  for (const DataType type : {DataType::kF16, DataType::kBF16}) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const uint8_t bytes[3] = {0xFF, static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8)};
      const auto value = std::span(bytes).subspan(1);
      ASSERT_EQ(AllFinite(type, value), std::isfinite(LoadValue(type, value.data()))) << bits;
    }
  }
}

TEST(AllFinite, AgreesWithNumbersOf32Bits) {
  for (uint32_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : {0U, 1U, 0xFFFFU}) {
      const auto number = std::bit_cast<float>(high << 16 | low);
      ASSERT_EQ(AllFinite(std::span(&number, 1)), std::isfinite(number)) << high << " " << low;
    }
  }
}

TEST(AllFinite, FindsOneAmongMany) {
  EXPECT_TRUE(AllFinite(std::span<const float>()));
  std::vector<float> numbers(1000, -3.4e38F);
  EXPECT_TRUE(AllFinite(numbers));
  for (const size_t at : {size_t{0}, size_t{1}, size_t{511}, size_t{998}, size_t{999}}) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      numbers[at] = bad;
      EXPECT_FALSE(AllFinite(numbers)) << at;
    }
    numbers[at] = 0;
  }
}

}  // namespace
}  // namespace sti
