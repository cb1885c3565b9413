#include "plan/search/allocation.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plan/budget.h"
#include "world.h"

namespace sti {
namespace {

/// A budget that counts everything anew, to compare with the one kept up to date.
bool FitsAnew(const Allocation& allocation, const Budget& budget) {
  uint64_t used = 0;
  size_t prefix = 0;
  const size_t shards = allocation.shards();
  while (prefix < shards &&
         used + allocation.BytesAt(prefix, allocation.level(prefix)) <= budget.preload_bytes)
    used += allocation.BytesAt(prefix, allocation.level(prefix)), ++prefix;
  EXPECT_EQ(prefix, allocation.preloaded());
  EXPECT_EQ(used, allocation.preloaded_bytes());
  std::vector<double> io(allocation.layers().size());
  for (size_t s = prefix; s < shards; ++s)
    io[s / allocation.width()] += allocation.LoadAt(s, allocation.level(s));
  Budget anew = budget;
  anew.lane.decode_us.assign(allocation.layers().size(), 0);
  for (size_t s = 0; s < shards; ++s)
    anew.lane.decode_us[s / allocation.width()] +=
        allocation.costs().decode_us(allocation.level(s));
  return AibsValid(ComputeAibs(0, anew.slack_us(), anew.lane, io));
}

TEST(Allocation, KeepsItsCountsUpToDate) {
  test::Random random(4);
  for (int trial = 0; trial < 300; ++trial) {
    const uint32_t n = 1 + random.Below(5);
    const uint32_t m = 1 + random.Below(4);
    test::World world(n, m, {2, 4, 6, 32}, {10, 20, 30, 160});
    world.Compute(1, [](uint32_t) { return 10.0; });
    world.Io({1, 2, 3, 16});
    const auto some_us = [&] { return 0.125 * random.Below(9) - 0.5; };
    // In the first trials the bits of a shard take no time, in the others some.
    if (trial >= 100) world.profile.decode = {{2, some_us()}, {4, some_us()}, {32, some_us()}};
    auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
    auto costs = ShardCosts::Make(world.catalog, *device);
    Budget budget;
    budget.lane = {
        {0, double(random.Below(4)), 0}, n, 3.0 + random.Below(10), 1.0 + random.Below(20)};
    budget.target_us = budget.lane.layers_us() + random.Below(60);
    budget.preload_bytes = random.Below(200);
    std::vector<uint32_t> layers(n);
    std::iota(layers.begin(), layers.end(), 0u);
    Allocation allocation(*costs, layers, m, budget);
    if (!SetHighestUniform(&allocation)) continue;
    for (int step = 0; step < 60; ++step) {
      const size_t shard = random.Below(n * m);
      const size_t level = allocation.level(shard) + 1 + random.Below(2);
      if (level >= 4) continue;
      Allocation anew = allocation;
      anew.Raise(shard, level);
      const bool fits = FitsAnew(anew, budget);
      ASSERT_EQ(allocation.TryRaise(shard, level), fits) << trial << " " << step;
      ASSERT_TRUE(FitsAnew(allocation, budget));
      ASSERT_EQ(allocation.level(shard) == level, fits);
    }
  }
}

TEST(Allocation, ByLevelSpreadsAndToHighestConcentrates) {
  test::World world(1, 3, {2, 3, 6}, {10, 20, 50});
  world.Compute(1, [](uint32_t) { return 10.0; });
  world.Io({1, 2, 5});
  auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  auto costs = ShardCosts::Make(world.catalog, *device);
  Budget budget;
  budget.lane = {{}, 1, 10};
  budget.target_us = 10 + 8;  // 8 of IO for three shards: 3 at 2 bits, 5 to give
  const std::vector<uint32_t> layers = {0};
  const std::vector<size_t> order = {2, 0, 1};
  Allocation by_level(*costs, layers, 3, budget);
  EXPECT_EQ(SetHighestUniform(&by_level), 1u);
  by_level.SetUniform(0);
  RaiseByLevel(&by_level, order);
  EXPECT_EQ(by_level.level(0) + by_level.level(1) + by_level.level(2), 3u);
  Allocation to_highest(*costs, layers, 3, budget);
  RaiseToHighest(&to_highest, order);
  EXPECT_EQ(to_highest.level(2), 2u);
  EXPECT_EQ(to_highest.level(0), 1u);
  EXPECT_EQ(to_highest.level(1), 0u);
}

TEST(Allocation, SmallestTargetIsExact) {
  test::World world(3, 2, {2}, {10});
  world.Compute(1, [](uint32_t) { return 7.0; });
  world.Io({5});
  auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  auto costs = ShardCosts::Make(world.catalog, *device);
  Budget budget;
  budget.lane = {{1, 2, 3}, 3, 7};
  const std::vector<uint32_t> layers = {0, 1, 2};
  const double smallest = Allocation(*costs, layers, 2, budget).SmallestTarget();
  budget.target_us = smallest;
  EXPECT_TRUE(Allocation(*costs, layers, 2, budget).Fits());
  budget.target_us = smallest - 0.01;
  EXPECT_FALSE(Allocation(*costs, layers, 2, budget).Fits());
}

TEST(Allocation, MemoryMayPreloadFewer) {
  test::World world(4, 1, {2}, {10});
  world.Compute(1, [](uint32_t) { return 10.0; });
  world.Io({5});
  auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  auto costs = ShardCosts::Make(world.catalog, *device);
  Budget budget;
  budget.lane = {{}, 4, 10};
  budget.target_us = 1000;
  budget.preload_bytes = 20;
  budget.shard_bytes = 20;  // two preloaded leave nothing for the others
  const std::vector<uint32_t> layers = {0, 1, 2, 3};
  Allocation allocation(*costs, layers, 1, budget);
  EXPECT_TRUE(allocation.Fits());
  EXPECT_EQ(allocation.preloaded(), 1u);
  budget.shard_bytes = 9;
  EXPECT_FALSE(Allocation(*costs, layers, 1, budget).FitsMemory());
}

}  // namespace
}  // namespace sti
