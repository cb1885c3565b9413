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
#include "types/bits.h"

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

void ExpectDecodes(const testing::TestShard& shard, uint64_t first, uint64_t count) {
  std::vector<float> out(RoundUp(count, 64) + 1, -9.0f);
  DecodeWeights(shard.view, first, count, out.data());
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(shard.weights[first + i]))
        << "first " << first << " count " << count << " at " << i;
  }
  EXPECT_EQ(out.back(), -9.0f) << "wrote past the room";
}

TEST(ShardMatrices, StreamOrderOfATinyShape) {
  ModelShape shape{.layers = 1,
                   .width = 12,
                   .hidden = 312,
                   .ffn = 1200,
                   .vocabulary = 8,
                   .max_positions = 8,
                   .token_types = 2,
                   .labels = 2};
  const auto matrices = ShardMatrices(shape);
  EXPECT_EQ(matrices[TensorRole::kQueryWeight].outs, 26U);
  EXPECT_EQ(matrices[TensorRole::kQueryWeight].ins, 312U);
  EXPECT_EQ(matrices[TensorRole::kOutputWeight].outs, 312U);
  EXPECT_EQ(matrices[TensorRole::kOutputWeight].ins, 26U);
  EXPECT_EQ(matrices[TensorRole::kFfn1Weight].outs, 100U);
  EXPECT_EQ(matrices[TensorRole::kFfn2Weight].ins, 100U);
  EXPECT_EQ(matrices[TensorRole::kQueryWeight].first, 0U);
  EXPECT_EQ(matrices[TensorRole::kKeyWeight].first, 26U * 312U);
  EXPECT_EQ(matrices[TensorRole::kFfn1Weight].first, 4U * 26U * 312U);
  EXPECT_EQ(matrices[TensorRole::kFfn2Weight].first + uint64_t{312} * 100, ShardWeights(shape));
}

TEST(DecodeWeights, EveryBitwidthAnyRange) {
  constexpr uint64_t kWeights = 70001;  // two outlier blocks, a ragged end
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    const auto shard = testing::MakeShard(kWeights, bits, DataType::kF32, 0.01, 1.0f, bits);
    testing::ForEachInstructionSet([&] {
      ExpectDecodes(shard, 0, kWeights);
      std::mt19937 random(bits);
      for (int round = 0; round < 200; ++round) {
        const uint64_t first = random() % kWeights;
        const uint64_t count = random() % std::min<uint64_t>(300, kWeights - first + 1);
        ExpectDecodes(shard, first, count);
      }
      for (uint64_t back = 0; back < 80; ++back) ExpectDecodes(shard, kWeights - back, back);
      ExpectDecodes(shard, 65530, 12);  // across outlier blocks
    });
  }
}

// Every weight of a shard by the definition: its centroid times the scale of its hidden channel.
void ExpectScaled(const ModelShape& shape, uint32_t bits) {
  auto shard = testing::MakeShard(ShardWeights(shape), bits, DataType::kF32, 0, 1.0f, bits);
  std::mt19937 random(bits);
  std::uniform_real_distribution<float> uniform(0.5f, 2.0f);
  std::vector<float> scales(CountAt(Home::kShard) * shape.hidden);
  for (float& scale : scales) scale = uniform(random);
  const auto plain = shard.weights;
  testing::AddOutliers(ShardWeights(shape), 0.02, random, &shard);
  shard.view.scales = scales.data();
  testing::TestShard decoded;
  decoded.weights = DecodeShard(shard.view, shape);
  const auto matrices = ShardMatrices(shape);
  uint32_t m = 0;
  for (const ShardMatrix& matrix : matrices) {
    const bool by_output = m == 3 || m == 5;  // O and FFN2
    for (uint32_t o = 0; o < matrix.outs; ++o) {
      for (uint32_t i = 0; i < matrix.ins; ++i) {
        const float scale = scales[m * shape.hidden + (by_output ? o : i)];
        const float stored = testing::WeightAt(shard, matrix, o, i);
        testing::TestShard codes;
        codes.weights = plain;
        const float centroid = testing::WeightAt(codes, matrix, o, i);
        const float expected = stored == centroid ? centroid * scale : stored;  // outliers as is
        ASSERT_EQ(testing::WeightAt(decoded, matrix, o, i), expected)
            << "matrix " << m << " output " << o << " input " << i;
      }
    }
    ++m;
  }
}

TEST(DecodeShard, ScalesByHiddenChannel) {
  // Whole panels; panels and stretches that end raggedly; hidden sizes that no vector divides.
  const ModelShape even{.layers = 1, .width = 2, .hidden = 64, .ffn = 128};
  const ModelShape ragged{.layers = 1, .width = 2, .hidden = 54, .ffn = 42};
  const ModelShape odd{.layers = 1, .width = 3, .hidden = 51, .ffn = 99};
  for (const ModelShape& shape : {even, ragged, odd}) {
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      testing::ForEachInstructionSet([&] { ExpectScaled(shape, bits); });
    }
  }
}

TEST(DecodePanel, AnyStretchOfAPanel) {
  const ModelShape shape{.layers = 1, .width = 2, .hidden = 96, .ffn = 64};
  auto shard = testing::MakeShard(ShardWeights(shape), 5, DataType::kF16, 0.02, 1.0f, 3);
  std::vector<float> scales(CountAt(Home::kShard) * shape.hidden);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 1.0f + static_cast<float>(i) / 64.0f;
  shard.view.scales = scales.data();
  const auto whole = DecodeShard(shard.view, shape);
  testing::ForEachInstructionSet([&] {
    for (const ShardMatrix& matrix : ShardMatrices(shape)) {
      for (uint32_t in = 0; in < matrix.ins; in += 7) {
        const PanelStretch stretch{matrix, 16, in, std::min(13U, matrix.ins - in)};
        std::vector<float> out(RoundUp(uint64_t{stretch.ins} * 16, 64));
        DecodePanel(shard.view, stretch, out.data());
        for (uint32_t i = 0; i < stretch.ins * 16; ++i) {
          ASSERT_EQ(out[i], whole[stretch.first() + i]) << "input " << in << " weight " << i;
        }
      }
    }
  });
}

TEST(DecodeWeights, OutliersOfEveryType) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const double share : {0.0, 0.3, 1.0}) {
      const auto shard = testing::MakeShard(3000, 4, type, share, 1.0f, 17);
      ExpectDecodes(shard, 0, 3000);
      ExpectDecodes(shard, 1537, 700);
    }
  }
}

TEST(DecodeWeights, FullFidelityOfEveryType) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    const auto shard = testing::MakeShard(2017, kFullBits, type, 0, 1.0f, 23);
    testing::ForEachInstructionSet([&] {
      ExpectDecodes(shard, 0, 2017);
      ExpectDecodes(shard, 1001, 1016);
      ExpectDecodes(shard, 3, 1);
    });
  }
}

}  // namespace

}  // namespace sti
