// A cascade's figures, computed by hand.
#include <gtest/gtest.h>

#include "measured_world.h"
#include "plan/cascade_price.h"
#include "plan/judge.h"
#include "plan/timeline.h"

namespace sti {
namespace {

Plan Uniform(std::vector<uint32_t> layers, uint32_t width, uint32_t bits) {
  Plan plan;
  plan.model = test::Model();
  plan.strategy = Strategy::kSti;
  plan.length = 128;
  RunUniformly(layers, width, bits, &plan);
  return plan;
}

/// 1x2 at 2 bits, of which one shard is preloaded, then 2x2 at 6.
Plan TwoLevels() {
  Plan plan = Uniform({0, 1}, 2, 6);
  PlanCascade& cascade = plan.cascade.emplace();
  cascade.return_share = {0.5};
  cascade.levels.resize(1);
  cascade.levels[0].plan = Uniform({0}, 2, 2);
  cascade.levels[0].plan.preload = {{{0, 0}, 2}};
  return plan;
}

CascadeFigures FiguresOf(const test::World& world, const Plan& plan, const Judging& judging = {}) {
  const CheckedInput input = world.checked();
  const auto devices = CheckedDevices(input, judging, plan);
  EXPECT_TRUE(devices.ok());
  return PriceCascade(input, judging, *devices, plan);
}

TEST(Cascade, ALevelReadsWhatLevelsBeforeLack) {
  const CascadeFigures figures = FiguresOf(test::SmallWorld(), TwoLevels());
  // Level 1: rows 8, one shard 20, a layer 5, the head 2. Level 2: two shards 40 more each, a layer
  // that was not read 120, its compute 5, the head 2.
  EXPECT_EQ(figures.path_us, (std::vector<double>{35, 35 + 80 + 120 + 7}));
  EXPECT_EQ(figures.upgrade_bytes, std::vector<uint64_t>{2 * (300 - 100 + 10) + 2 * 300});
  EXPECT_EQ(figures.mean_us, 0.5 * 35 + 0.5 * 242);
  EXPECT_EQ(figures.worst_path_us, 242);
  EXPECT_EQ(figures.problem, "");
}

TEST(Cascade, AThirdLevelFindsWhatBothHaveRead) {
  Plan plan = TwoLevels();
  PlanCascade& cascade = *plan.cascade;
  cascade.levels.push_back(cascade.levels[0]);
  cascade.levels[1].plan = Uniform({1}, 2, 6);
  cascade.return_share = {0.5, 0.25};
  const CascadeFigures figures = FiguresOf(test::SmallWorld(), plan);
  EXPECT_EQ(figures.path_us, (std::vector<double>{35, 35 + 120 + 7, 162 + 80 + 12}));
  EXPECT_EQ(figures.upgrade_bytes, (std::vector<uint64_t>{600, 420}));
  EXPECT_EQ(figures.mean_us, 0.5 * 35 + 0.25 * 162 + 0.25 * 254);
}

TEST(Cascade, FullFidelityAndPlanesShareNothing) {
  test::World world(2, 2, {2, 6, 32}, {100, 300, 800});
  world.Compute(1, [](uint32_t) { return 5.0; });
  world.Io({20, 60, 160});
  Plan plan = TwoLevels();
  plan.cascade->levels[0].plan = Uniform({0}, 2, 32);
  EXPECT_EQ(FiguresOf(world, plan).upgrade_bytes, std::vector<uint64_t>{4 * 300});
  plan.bits = Grid<uint32_t>(2, 2, 32);
  EXPECT_EQ(FiguresOf(world, plan).upgrade_bytes, std::vector<uint64_t>{2 * 800});
  plan.cascade->levels[0].plan = Uniform({0}, 2, 6);
  EXPECT_EQ(FiguresOf(world, plan).upgrade_bytes, std::vector<uint64_t>{4 * 800});
}

TEST(Cascade, TheWorstPathMustKeepTheTarget) {
  Plan plan = TwoLevels();
  plan.target_us = 242;
  EXPECT_EQ(FiguresOf(test::SmallWorld(), plan).problem, "");
  plan.target_us = 241;
  EXPECT_EQ(FiguresOf(test::SmallWorld(), plan).problem,
            "takes 0.242 ms of 0.241 ms through all levels");
}

TEST(Cascade, WhatLevelsKeepCountsInMemory) {
  const test::World world = test::SmallWorld();
  Plan plan = TwoLevels();
  const CascadeFigures free = FiguresOf(world, plan);
  // Here 200 bytes stay, and the last level stages 2 x 210 and 2 x 300. There 100 stay, since the
  // only shard is preloaded, and it stages 210 and 3 x 300.
  plan.cascade->levels[0].plan = Uniform({0}, 1, 2);
  const CascadeFigures less = FiguresOf(world, plan);
  EXPECT_EQ(free.peak_bytes - (200 + 420 + 600), less.peak_bytes - (100 + 210 + 900));
  Judging judging;
  judging.memory_bytes = free.peak_bytes;
  EXPECT_EQ(FiguresOf(world, TwoLevels(), judging).problem, "");
  judging.memory_bytes = free.peak_bytes - 1020;
  EXPECT_NE(FiguresOf(world, TwoLevels(), judging).problem.find("bytes of memory"),
            std::string::npos);
}

TEST(Cascade, JudgingAPlanJudgesItsCascade) {
  const test::World world = test::SmallWorld();
  Plan plan = TwoLevels();
  // Alone the plan preloads a shard, and takes 8 + 180 + 5 + 2.
  plan.preload = {{{0, 0}, 6}};
  plan.target_us = 240;
  const auto verdicts = JudgePlan(world.input(), {}, plan);
  ASSERT_TRUE(verdicts.ok());
  EXPECT_TRUE(verdicts->plan.valid) << verdicts->plan.problem;
  ASSERT_TRUE(verdicts->cascade);
  EXPECT_EQ(verdicts->problem(), "the cascade takes 0.242 ms of 0.240 ms through all levels");
  FillCascade(*verdicts->cascade, &plan);
  EXPECT_FALSE(plan.meets_target);
  EXPECT_EQ(plan.cascade->levels[0].upgrade_bytes, 1020u);
  EXPECT_EQ(plan.cascade->mean_us, 138.5);
}

TEST(Cascade, ATimelineGoesThroughAllLevels) {
  const auto timeline = PlayPlan(test::SmallWorld().input(), {}, TwoLevels());
  ASSERT_TRUE(timeline.ok()) << timeline.error().Message();
  EXPECT_EQ(timeline->level_start_us, (std::vector<double>{0, 35}));
  EXPECT_EQ(timeline->latency_us, 242);
  EXPECT_EQ(timeline->stall_us, 242 - (1 + 5 + 2) - (1 + 10 + 2));
  std::vector<ShardAtBits> loads;
  std::vector<std::pair<uint32_t, double>> layers;
  for (const PlanEvent& event : timeline->events) {
    if (event.kind == LaneSpan::Kind::kLoad) loads.push_back(event.shard);
    if (event.kind == LaneSpan::Kind::kLayer)
      layers.push_back({event.shard.id.layer, event.end_us});
  }
  EXPECT_EQ(loads, (std::vector<ShardAtBits>{
                       {{0, 1}, 2}, {{0, 0}, 6}, {{0, 1}, 6}, {{1, 0}, 6}, {{1, 1}, 6}}));
  EXPECT_EQ(layers, (std::vector<std::pair<uint32_t, double>>{{0, 33}, {0, 120}, {1, 240}}));
}

}  // namespace
}  // namespace sti
