// Values that files spell as text or number: bits, strategies, kernels, shards.
#include <gtest/gtest.h>

#include "types/bits.h"
#include "types/kernel.h"
#include "types/plan.h"
#include "types/shard_id.h"
#include "types/strategy.h"

namespace sti {
namespace {

TEST(Bits, AreTwoToSixAndThirtyTwo) {
  for (uint32_t bits = 0; bits < 64; ++bits)
    EXPECT_EQ(IsBits(bits), (bits >= 2 && bits <= 6) || bits == 32) << bits;
}

TEST(Bits, PlanesExtendPlanesAndNothingElse) {
  EXPECT_TRUE(Extends(2, 3));
  EXPECT_TRUE(Extends(2, 6));
  EXPECT_FALSE(Extends(3, 3));
  EXPECT_FALSE(Extends(4, 3));
  EXPECT_FALSE(Extends(0, 3));
  EXPECT_FALSE(Extends(6, kFullBits));
  EXPECT_FALSE(Extends(kFullBits, 6));
}

TEST(Strategy, NamesAreReadBack) {
  for (const Strategy strategy :
       {Strategy::kSti, Strategy::kStiPaper, Strategy::kRandom, Strategy::kLoadExec,
        Strategy::kStdpl, Strategy::kPreload, Strategy::kTabi, Strategy::kWhole}) {
    EXPECT_EQ(ParseStrategy(NameOf(strategy)), strategy) << NameOf(strategy);
    EXPECT_FALSE(NameOf(strategy).empty());
  }
  EXPECT_EQ(ParseStrategy("luck"), Strategy::kOther);
  EXPECT_EQ(ParseStrategy(""), Strategy::kOther);
}

TEST(Strategy, APlanKeepsTheTextOfAnother) {
  Plan plan;
  plan.strategy = Strategy::kStiPaper;
  EXPECT_EQ(plan.strategy_name(), "sti-paper");
  plan.strategy = Strategy::kOther;
  plan.other_strategy = "by hand";
  EXPECT_EQ(plan.strategy_name(), "by hand");
}

TEST(Strategy, DelaysAddUpAsTheBaselinesSay) {
  EXPECT_EQ(DelayModelFor(Strategy::kSti), DelayModel::kBudgets);
  EXPECT_EQ(DelayModelFor(Strategy::kOther), DelayModel::kBudgets);
  EXPECT_EQ(DelayModelFor(Strategy::kLoadExec), DelayModel::kSerial);
  EXPECT_EQ(DelayModelFor(Strategy::kStdpl), DelayModel::kPipeline);
  EXPECT_EQ(DelayModelFor(Strategy::kPreload), DelayModel::kMemory);
}

TEST(Kernel, ItsTypeIsReadOffItsName) {
  EXPECT_EQ(ParseKernel("native-avx512-bf16").type, ComputeType::kBf16);
  EXPECT_EQ(ParseKernel("openblas-fp32").type, ComputeType::kFp32);
  EXPECT_EQ(ParseKernel("native-avx512").type, std::nullopt);
  EXPECT_EQ(ParseKernel("int8").type, std::nullopt);
  EXPECT_EQ(ParseKernel("").type, std::nullopt);
  EXPECT_EQ(ParseKernel("native-avx2-int8").name, "native-avx2-int8");
}

TEST(ShardId, OrdersByLayerThenSlice) {
  EXPECT_LT((ShardId{1, 9}), (ShardId{2, 0}));
  EXPECT_LT((ShardId{2, 0}), (ShardId{2, 1}));
  EXPECT_EQ(NameOf(ShardId{3, 5}), "layer 3 slice 5");
  EXPECT_EQ(NameOf(ShardAtBits{{3, 5}, 4}), "layer 3 slice 5 at 4 bits");
}

TEST(ShardCatalog, TellsTheBytesOfAShard) {
  const ShardCatalog catalog{2, 2, {2, 32}, {10, 11, 20, 21, 30, 31, 40, 41}};
  EXPECT_EQ(catalog.BytesOf({{0, 1}, 32}), 21U);
  EXPECT_EQ(catalog.BytesOf({{1, 0}, 2}), 30U);
  EXPECT_EQ(catalog.BytesOf({{0, 0}, 3}), std::nullopt);
  EXPECT_EQ(catalog.BytesOf({{2, 0}, 2}), std::nullopt);
  EXPECT_EQ(catalog.BytesOf({{0, 2}, 2}), std::nullopt);
}

}  // namespace
}  // namespace sti
