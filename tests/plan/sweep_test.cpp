#include "plan/sweep.h"

#include <gtest/gtest.h>

#include "world.h"

namespace sti {
namespace {

TEST(Sweep, TargetsRunFromTheLeastToAllBits) {
  const test::World world = test::Odroid();
  const auto targets = SweepTargets(world.input(), PlanRequest());
  ASSERT_TRUE(targets.ok()) << targets.error().Message();
  ASSERT_EQ(targets->size(), 8u);
  PlanRequest request;
  request.target_us = targets->front();
  EXPECT_TRUE(MakePlan(world.input(), request).ok());
  request.target_us = targets->front() * 0.9;
  EXPECT_FALSE(MakePlan(world.input(), request).ok());
  request.target_us = targets->back();
  const auto most = MakePlan(world.input(), request);
  ASSERT_TRUE(most.ok());
  EXPECT_EQ(most->layers.size(), 12u);
  EXPECT_EQ(most->bits.At(11, 11), 32u);
}

TEST(Sweep, TargetsAreThoseOfTheClockThatIsAskedFor) {
  test::World world = test::Odroid();
  world.profile.compute.clear();
  for (uint32_t m = 3; m <= 12; ++m) {
    world.profile.compute.push_back({128, m, 13000.0 * m, 13000.0 * m, 2000000});
    world.profile.compute.push_back({128, m, 26000.0 * m, 26000.0 * m, 1000000});
  }
  for (const uint64_t clock : {1000000, 2000000}) {
    PlanRequest request;
    request.clocks = {clock};
    const auto targets = SweepTargets(world.input(), request);
    ASSERT_TRUE(targets.ok()) << targets.error().Message();
    request.target_us = targets->front();
    EXPECT_TRUE(MakePlan(world.input(), request).ok()) << clock;
    request.target_us = targets->front() * 0.9;
    EXPECT_FALSE(MakePlan(world.input(), request).ok()) << clock;
  }
}

TEST(Sweep, PreloadsArePowersOfTwo) {
  const auto preloads = SweepPreloads(test::Odroid().catalog);  // 144 shards of 450 kB at 6 bits
  EXPECT_EQ(preloads, (std::vector<uint64_t>{0, 2u << 20, 8u << 20, 32u << 20}));
}

TEST(Sweep, NoPlanOfTheFrontIsBeatenAndOthersAre) {
  const test::World world = test::Odroid();
  const std::vector<double> targets = {100e3, 200e3, 400e3, 800e3};
  const std::vector<uint64_t> preloads = {0, 1000000, 4000000};
  const auto grid = SweepPlans(world.input(), PlanRequest(), targets, preloads);
  ASSERT_TRUE(grid.ok()) << grid.error().Message();
  EXPECT_EQ(grid->quality, SweepQuality::kShardBits);
  ASSERT_EQ(grid->cells.size(), 12u);
  size_t front = 0;
  for (const SweepCell& cell : grid->cells) {
    ASSERT_TRUE(cell.plan);
    bool beaten = false;
    for (const SweepCell& other : grid->cells) {
      beaten = beaten || (other.quality > 1.001 * cell.quality &&
                          other.plan->predicted_latency_us < cell.plan->predicted_latency_us &&
                          other.plan->predicted_peak_bytes < cell.plan->predicted_peak_bytes);
    }
    EXPECT_FALSE(cell.on_front && beaten);
    front += cell.on_front ? 1 : 0;
  }
  EXPECT_GT(front, 2u);
}

// Shards that are preloaded need no staging, and so two plans may differ in time alone.
TEST(Sweep, APlanThatIsOnlyQuickerBeatsTheOther) {
  test::World world(1, 2, {2}, {100});
  world.Compute(1, [](uint32_t m) { return 1000.0 * m; });
  world.Io({200});
  world.profile.fixed = {{128, 100, 200, 50}};
  const std::vector<double> targets = {9e3};
  const std::vector<uint64_t> preloads = {0, 100};
  const auto grid = SweepPlans(world.input(), PlanRequest(), targets, preloads);
  ASSERT_TRUE(grid.ok()) << grid.error().Message();
  const SweepCell& slow = grid->cells[0];
  const SweepCell& quick = grid->cells[1];
  ASSERT_EQ(slow.quality, quick.quality);
  ASSERT_EQ(slow.plan->predicted_peak_bytes, quick.plan->predicted_peak_bytes);
  ASSERT_GT(slow.plan->predicted_latency_us, quick.plan->predicted_latency_us);
  EXPECT_FALSE(slow.on_front);
  EXPECT_TRUE(quick.on_front);
}

TEST(Sweep, ListsHaveABound) {
  const test::World world = test::Odroid();
  const std::vector<double> targets = {200e3};
  const std::vector<uint64_t> none;
  const std::vector<uint64_t> many(65, 0);
  EXPECT_EQ(SweepPlans(world.input(), PlanRequest(), targets, none).error().Message(),
            "a sweep has 1 to 64 preloads, not 0");
  EXPECT_EQ(SweepPlans(world.input(), PlanRequest(), targets, many).error().Message(),
            "a sweep has 1 to 64 preloads, not 65");
}

TEST(Sweep, InfeasibleCellsAreResultsAndOtherErrorsAreNot) {
  const test::World world = test::Odroid();
  const std::vector<double> targets = {1e3, 200e3};
  const std::vector<uint64_t> none;
  const std::vector<uint64_t> preloads = {0};
  const auto grid = SweepPlans(world.input(), PlanRequest(), targets, preloads);
  ASSERT_TRUE(grid.ok());
  EXPECT_FALSE(grid->cells[0].plan);
  EXPECT_NE(grid->cells[0].problem->what.find("smallest feasible target"), std::string::npos);
  EXPECT_FALSE(grid->cells[0].on_front);
  EXPECT_TRUE(grid->cells[1].on_front);
  EXPECT_EQ(SweepPlans(world.input(), PlanRequest(), targets, none).error().kind,
            ErrorKind::kUsage);
  PlanRequest bad;
  bad.wake_us = -1;
  EXPECT_EQ(SweepPlans(world.input(), bad, targets, preloads).error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace sti
