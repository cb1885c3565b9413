#include "kernels/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/instruction_sets.h"
#include "kernels/shard_encoder.h"

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

// Returns the number that a code stands for, by the definition.
float Expected(float centroid, Scaling scaling, const std::vector<float>& scales, uint64_t at) {
  if (scaling == Scaling::kRows) return centroid * scales[at / 16];
  if (scaling == Scaling::kColumns) return centroid * scales[at % 16];
  return centroid;
}

void ExpectPlanes(const testing::TestShard& shard, uint64_t first, uint64_t count, Scaling scaling,
                  const std::vector<float>& scales) {
  constexpr float kUntouched = -9;
  std::vector<float> out(RoundUp(count, 64) + 1, kUntouched);
  // As short as it may be, so that a sanitizer sees a scale too many being read.
  const size_t rows = scaling == Scaling::kRows ? count / 16 : 16;
  const size_t used = scaling == Scaling::kNone ? 0 : rows;
  const std::vector<float> own(scales.begin(), scales.begin() + static_cast<std::ptrdiff_t>(used));
  DecodePlanes({shard.view.planes, shard.view.bits, shard.view.centroids, scaling, own.data()},
               first, count, out.data());
  for (uint64_t i = 0; i < count; ++i) {
    const float expected = Expected(shard.weights[first + i], scaling, scales, i);
    ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(expected))
        << "bits " << shard.view.bits << " first " << first << " count " << count << " at " << i;
  }
  EXPECT_EQ(out.back(), kUntouched) << "wrote past the room";
}

TEST(DecodePlanes, TheSameFloatsOnEverySet) {
  constexpr uint64_t kWeights = 3001;
  std::vector<float> scales(200);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 0.3F + static_cast<float>(i) / 7;
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    const auto shard = testing::MakeShard(kWeights, bits, DataType::kF32, 0, 1.0F, bits);
    testing::ForEachInstructionSet([&] {
      for (uint64_t first = 0; first < 20; ++first) {
        for (uint64_t count = 0; count <= 150; count += 1 + first % 5) {
          ExpectPlanes(shard, first, count, Scaling::kNone, scales);
        }
        for (uint64_t rows = 0; rows <= 11; ++rows) {
          ExpectPlanes(shard, first, 16 * rows, Scaling::kRows, scales);
          ExpectPlanes(shard, first, 16 * rows, Scaling::kColumns, scales);
        }
      }
      ExpectPlanes(shard, 1, kWeights - 1, Scaling::kNone, scales);
      ExpectPlanes(shard, 9, 16 * 187, Scaling::kRows, scales);
      // From whole bytes on, for long: NEON goes by 512 codes there.
      for (const uint64_t rows : {32U, 33U, 64U, 100U, 186U}) {
        ExpectPlanes(shard, 8, 16 * rows, Scaling::kRows, scales);
        ExpectPlanes(shard, 16, 16 * rows, Scaling::kColumns, scales);
      }
      ExpectPlanes(shard, 8, kWeights - 8, Scaling::kNone, scales);
    });
  }
}

// Centroids are copied, bit by bit: no byte of them is lost, none is rounded or flushed.
TEST(DecodePlanes, CopiesAnyPatternOfBits) {
  auto shard = testing::MakeShard(4096, 6, DataType::kF32, 0, 1.0F, 4);
  const std::vector<float> before = shard.centroids;
  for (uint32_t i = 0; i < 64; ++i) {
    // Denormals, infinities and quiet NaNs with payloads among them.
    const uint32_t pattern = i * 0x01030507U ^ (i % 4 == 3 ? 0x7FC00000U : 0x000000FFU);
    shard.centroids[i] = std::bit_cast<float>(i == 17 ? 0x80000000U : pattern);
  }
  for (float& weight : shard.weights) {
    const auto code = std::find(before.begin(), before.end(), weight) - before.begin();
    weight = shard.centroids[static_cast<size_t>(code)];
  }
  testing::ForEachInstructionSet([&] { ExpectPlanes(shard, 0, 4096, Scaling::kNone, {}); });
}

}  // namespace
}  // namespace sti
