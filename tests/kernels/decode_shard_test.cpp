#include "kernels/decode_shard.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/checked.h"
#include "kernels/instruction_sets.h"
#include "kernels/shard_encoder.h"
#include "types/bits.h"

namespace sti {
namespace {

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
