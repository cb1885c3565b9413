#include "kernels/decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "kernels/instruction_sets.h"

namespace sti {
namespace {

TEST(WidenWeights, EveryHalfAndBFloat) {
  std::vector<uint8_t> source(1 + 2 * 65536);  // one byte off, so that nothing is aligned
  for (uint32_t i = 0; i < 65536; ++i) {
    source[1 + 2 * i] = static_cast<uint8_t>(i);
    source[2 + 2 * i] = static_cast<uint8_t>(i >> 8);
  }
  testing::ForEachInstructionSet([&] {
    std::vector<float> out(65536);
    for (const DataType type : {DataType::kF16, DataType::kBF16}) {
      WidenWeights(source.data() + 1, type, 65536, out.data());
      for (uint32_t i = 0; i < 65536; ++i) {
        const auto bits = static_cast<uint16_t>(i);
        const float expected = type == DataType::kF16 ? HalfToFloat(bits) : BFloatToFloat(bits);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(out[i])) << i;
        } else {
          ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(expected)) << i;
        }
      }
    }
  });
}

TEST(WidenWeights, TouchesNothingPastTheCount) {
  const std::vector<uint8_t> source(2 * 37, 0x3C);
  testing::ForEachInstructionSet([&] {
    for (uint32_t count = 0; count <= 37; ++count) {
      std::vector<float> out(40, -7.0f);
      WidenWeights(source.data(), DataType::kF16, count, out.data());
      for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(out[i], i < count ? HalfToFloat(0x3C3C) : -7.0f);
    }
  });
}

}  // namespace
}  // namespace sti
