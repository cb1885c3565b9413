#include "plan/judge.h"

#include <gtest/gtest.h>

#include "plan/shard_room.h"
#include "world.h"

namespace sti {
namespace {

// STI Figure 6 as a plan: 2x3, T_comp 1 s, T_io(2) 0.2 s, S holds layer 0.
struct Figure6 {
  test::World world{2, 3, {2, 4, 5, 6}, {100, 200, 250, 300}};
  Plan plan;

  explicit Figure6(std::initializer_list<uint32_t> layer_one_bits) {
    world.Compute(3, [](uint32_t) { return 1e6; });
    world.Io({0.2e6, 0.4e6, 0.5e6, 0.6e6});
    plan.model = test::Model();
    plan.strategy = Strategy::kSti;
    plan.length = 128;
    plan.layers = {0, 1};
    plan.width = 3;
    plan.slices = {{0, 1, 2}, {0, 1, 2}};
    plan.bits = {{2, 2, 2}, layer_one_bits};
    plan.preload = {{0, 0, 2}, {0, 1, 2}, {0, 2, 2}};
    plan.target_us = 2e6;
  }
  Verdict Check() const { return *CheckPlan(world.input(), Judging(), plan); }
};

TEST(Judge, Figure6) {
  const Verdict a = Figure6({6, 2, 2}).Check();  // 1.0 s
  EXPECT_TRUE(a.valid);
  EXPECT_EQ(a.aib_us, (std::vector<double>{0, 0}));
  EXPECT_EQ(a.slack_us, 0);
  EXPECT_DOUBLE_EQ(a.p99_us, 2e6);
  EXPECT_TRUE(Figure6({4, 4, 2}).Check().valid);  // 1.0 s
  const Verdict c = Figure6({5, 4, 2}).Check();   // 1.1 s
  EXPECT_FALSE(c.valid);
  EXPECT_EQ(c.aib_us[0], 0);
  EXPECT_NEAR(c.aib_us[1], -0.1e6, 1e-6);
  EXPECT_FALSE(c.problem.empty());
}

TEST(Judge, BonusOfALaterLayerBuysAnEarlierOneNothing) {
  Figure6 figure({2, 2, 2});
  figure.plan.preload = {{1, 0, 2}, {1, 1, 2}, {1, 2, 2}};  // edited: layer 0 is streamed
  const Verdict check = figure.Check();
  EXPECT_FALSE(check.valid);
  EXPECT_DOUBLE_EQ(check.p99_us, 2.6e6);
}

TEST(Judge, AnotherTargetGivesAnotherVerdict) {
  Figure6 figure({5, 4, 2});
  figure.plan.target_us = 2.2e6;
  const auto check = CheckPlan(figure.world.input(), Judging(), figure.plan);
  EXPECT_TRUE(check->valid);
  EXPECT_NEAR(*check->slack_us, 0.2e6, 1e-6);
}

TEST(Judge, MemoryCounts) {
  Figure6 figure({2, 2, 2});
  Judging judging;
  const uint64_t base = BytesBeforeShards(figure.world.memory(), {128, 3});
  judging.memory_bytes = base + 600;
  auto check = CheckPlan(figure.world.input(), judging, figure.plan);
  EXPECT_TRUE(check->valid);
  EXPECT_EQ(check->peak_bytes, base + 600);
  EXPECT_EQ(check->preload_bytes, 300u);
  EXPECT_EQ(check->parameter_bytes, 600u);
  judging.memory_bytes = base + 599;
  check = CheckPlan(figure.world.input(), judging, figure.plan);
  EXPECT_FALSE(check->valid);
  EXPECT_NE(check->problem.find("memory"), std::string::npos);
}

TEST(Judge, ForeignPlansAreRefused) {
  auto refused = [](const std::function<void(Plan&)>& spoil) {
    Figure6 figure({2, 2, 2});
    spoil(figure.plan);
    const auto check = CheckPlan(figure.world.input(), Judging(), figure.plan);
    return !check.ok() &&
           (check.error().kind == ErrorKind::kDamaged || check.error().kind == ErrorKind::kForeign);
  };
  EXPECT_TRUE(refused([](Plan& p) { p.layers = {0, 2}; }));
  EXPECT_TRUE(refused([](Plan& p) { p.layers = {1, 0}; }));
  EXPECT_TRUE(refused([](Plan& p) { p.layers.clear(); }));
  EXPECT_TRUE(refused([](Plan& p) { p.bits.At(1, 1) = 3; }));
  EXPECT_TRUE(refused([](Plan& p) { p.slices.At(1, 1) = 3; }));
  EXPECT_TRUE(refused([](Plan& p) { p.slices.At(1, 1) = 0; }));
  EXPECT_TRUE(refused([](Plan& p) { p.bits = {{2, 2}, {2, 2}}; }));
  EXPECT_TRUE(refused([](Plan& p) { p.preload[0].bits = 4; }));
  EXPECT_TRUE(refused([](Plan& p) { p.preload.push_back(p.preload[0]); }));
}

}  // namespace
}  // namespace sti
