#include "plan/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "plan/world.h"

namespace sti {
namespace {

// Numbers that tell tokens and width apart.
uint64_t Working(uint32_t tokens, uint32_t width) { return uint64_t{1000} * tokens + width; }

PlanInput InputOf(const test::World& world, uint64_t process) {
  PlanInput input = world.input();
  input.memory = {process, 100'000'000, Working};
  return input;
}

TEST(Memory, BeforeShardsIsProcessResidentAndWorking) {
  const test::World world = test::Odroid();
  EXPECT_EQ(BytesBeforeShards(InputOf(world, 7'000'000), 64, 5), 107'064'005U);
  EXPECT_EQ(BytesBeforeShards(InputOf(world, 0), 64, 5), (uint64_t{8} << 20) + 100'064'005)
      << "a process that was not measured";
}

TEST(Memory, APlanWithVariantsTakesTheLongestAndTheWidest) {
  const test::World world = test::Odroid();
  const PlanInput input = InputOf(world, 1);
  Plan plan;
  plan.length = 64;
  plan.width = 6;
  EXPECT_EQ(BytesBeforeShards(input, plan), BytesBeforeShards(input, 64, 6));
  Plan longer = plan;
  longer.length = 128;
  longer.width = 3;
  Plan wider = plan;
  wider.length = 16;
  wider.width = 12;
  plan.variants = {longer};
  EXPECT_EQ(BytesBeforeShards(input, plan), BytesBeforeShards(input, 128, 6));
  plan.variants = {longer, wider};
  EXPECT_EQ(BytesBeforeShards(input, plan), BytesBeforeShards(input, 128, 12));
}

TEST(Memory, SumsStopAtTheLargestNumber) {
  EXPECT_EQ(AddSaturated(UINT64_MAX - 1, 2), UINT64_MAX);
  EXPECT_EQ(AddSaturated(UINT64_MAX - 2, 2), UINT64_MAX);
  EXPECT_EQ(AddSaturated(3, 4), 7U);
}

TEST(Memory, ShardsHaveWhatIsLeftOfTheLimit) {
  const test::World world = test::Odroid();
  const PlanInput input = InputOf(world, 1);
  PlanRequest request;
  EXPECT_EQ(ShardMemory(input, request, 64, 5), std::nullopt);
  request.judging.memory_bytes = BytesBeforeShards(input, 64, 5) + 4096;
  EXPECT_EQ(ShardMemory(input, request, 64, 5), 4096U);
  request.judging.memory_bytes = 1;
  EXPECT_EQ(ShardMemory(input, request, 64, 5), 0U);
}

}  // namespace
}  // namespace sti
