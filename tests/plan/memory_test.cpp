#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "plan/shard_room.h"

namespace sti {
namespace {

// Numbers that tell tokens and width apart.
uint64_t Working(const PlanExtent& extent) { return uint64_t{1000} * extent.tokens + extent.width; }

MemoryBeforeShards MemoryOf(std::optional<uint64_t> process) {
  return {process, 100'000'000, 0, Working};
}

TEST(Memory, BeforeShardsIsProcessResidentAndWorking) {
  EXPECT_EQ(BytesBeforeShards(MemoryOf(7'000'000), {64, 5}), 107'064'005U);
  EXPECT_EQ(BytesBeforeShards(MemoryOf(0), {64, 5}), 100'064'005U) << "the model's own alone";
  EXPECT_EQ(BytesBeforeShards(MemoryOf(std::nullopt), {64, 5}), (uint64_t{8} << 20) + 100'064'005)
      << "a process that was not measured";
}

TEST(Memory, APlanWithVariantsTakesTheLongestAndTheWidest) {
  const MemoryBeforeShards memory = MemoryOf(1);
  Plan plan;
  plan.length = 64;
  plan.width = 6;
  EXPECT_EQ(BytesBeforeShards(memory, plan.Extent()), BytesBeforeShards(memory, {64, 6}));
  Plan longer = plan;
  longer.length = 128;
  longer.width = 3;
  Plan wider = plan;
  wider.length = 16;
  wider.width = 12;
  plan.variants = {longer};
  EXPECT_EQ(BytesBeforeShards(memory, plan.Extent()), BytesBeforeShards(memory, {128, 6}));
  plan.variants = {longer, wider};
  EXPECT_EQ(BytesBeforeShards(memory, plan.Extent()), BytesBeforeShards(memory, {128, 12}));
}

TEST(Memory, SumsStopAtTheLargestNumber) {
  EXPECT_EQ(AddSaturated(UINT64_MAX - 1, 2), UINT64_MAX);
  EXPECT_EQ(AddSaturated(UINT64_MAX - 2, 2), UINT64_MAX);
  EXPECT_EQ(AddSaturated(3, 4), 7U);
}

TEST(Memory, ShardsHaveWhatIsLeftOfTheLimit) {
  const MemoryBeforeShards memory = MemoryOf(1);
  Judging judging;
  EXPECT_EQ(ShardMemory(memory, judging, {64, 5}), std::nullopt);
  judging.memory_bytes = BytesBeforeShards(memory, {64, 5}) + 4096;
  EXPECT_EQ(ShardMemory(memory, judging, {64, 5}), 4096U);
  judging.memory_bytes = 1;
  EXPECT_EQ(ShardMemory(memory, judging, {64, 5}), 0U);
}

}  // namespace
}  // namespace sti
