#include "kernels/shard_view.h"

#include <gtest/gtest.h>

#include <bit>

#include "kernels/instruction_sets.h"
#include "kernels/shard_encoder.h"

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
  EXPECT_EQ(matrices[kQuery].outs, 26U);
  EXPECT_EQ(matrices[kQuery].ins, 312U);
  EXPECT_EQ(matrices[kOutput].outs, 312U);
  EXPECT_EQ(matrices[kOutput].ins, 26U);
  EXPECT_EQ(matrices[kFfn1].outs, 100U);
  EXPECT_EQ(matrices[kFfn2].ins, 100U);
  EXPECT_EQ(matrices[kQuery].first, 0U);
  EXPECT_EQ(matrices[kKey].first, 26U * 312U);
  EXPECT_EQ(matrices[kFfn1].first, 4U * 26U * 312U);
  EXPECT_EQ(matrices[kFfn2].first + uint64_t{312} * 100, shape.shard_weights());
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
