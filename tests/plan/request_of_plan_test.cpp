#include <gtest/gtest.h>

#include "plan/request.h"
#include "support/expect.h"
#include "world.h"

namespace sti {
namespace {

PlanRequest Asked() {
  PlanRequest request;
  request.target_us = 3e5;
  request.preload_bytes = 2 << 20;
  return request;
}

TEST(RequestOfPlan, ThePlanAnswersIt) {
  const test::World world = test::Odroid();
  PlanRequest request = Asked();
  request.mode = PlanRequest::Turns{3, 4 << 20};
  request.wake_us = 2000;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(plan));
  const auto told = RequestOf(*plan, world.info);
  ASSERT_TRUE(Succeeded(told));
  EXPECT_EQ(told->target_us, request.target_us);
  EXPECT_EQ(told->preload_bytes, plan->preload_bytes);
  ASSERT_NE(told->turns(), nullptr);
  EXPECT_EQ(told->turns()->count, 3U);
  EXPECT_EQ(told->turns()->bytes, request.turns()->bytes);
  EXPECT_EQ(told->wake_us, 2000);
  EXPECT_EQ(told->length, 128U);
  EXPECT_TRUE(told->further_lengths.empty());
  EXPECT_TRUE(told->clocks.empty());
  EXPECT_FALSE(told->allow_untrained);
  EXPECT_EQ(told->judging.risk, Risk::kP99);
  const auto again = MakePlan(world.input(), *told);
  ASSERT_TRUE(Succeeded(again));
  EXPECT_TRUE(again->meets_target);
  EXPECT_LE(again->preload_bytes, plan->preload_bytes);
  EXPECT_EQ(again->turns.size(), 3U);
}

TEST(RequestOfPlan, VariantsSayWhichLengthsAndClocks) {
  const test::World world = test::Odroid();
  Plan plan = *MakePlan(world.input(), Asked());
  plan.freq = 1800000;
  plan.variants.assign(3, plan);
  plan.variants[0].length = 64;
  plan.variants[1].freq = 1200000;
  plan.variants[2].length = 64;
  plan.variants[2].freq = 1200000;
  const auto told = RequestOf(plan, world.info);
  ASSERT_TRUE(Succeeded(told));
  EXPECT_EQ(told->length, 128U);
  EXPECT_EQ(told->further_lengths, (std::vector<uint32_t>{64, 128}));
  EXPECT_EQ(told->clocks, (std::vector<uint64_t>{1800000, 1200000}));
}

TEST(RequestOfPlan, MediansCountWhereTheyDid) {
  const test::World world = test::Odroid();
  Plan plan = *MakePlan(world.input(), Asked());
  plan.predicted_p99_us = *plan.target_us + 1;
  EXPECT_EQ(RequestOf(plan, world.info)->judging.risk, Risk::kMedian);
}

TEST(RequestOfPlan, AnUntrainedSubmodelMayBeReplacedByAnother) {
  test::World world = test::Odroid();
  const Plan plan = *MakePlan(world.input(), Asked());
  world.info.min_width = plan.width + 1;
  EXPECT_TRUE(RequestOf(plan, world.info)->allow_untrained);
  world.info.min_width = 1;
  world.info.min_depth = static_cast<uint32_t>(plan.layers.size()) + 1;
  EXPECT_TRUE(RequestOf(plan, world.info)->allow_untrained);
  world.info.min_depth = 1;
  EXPECT_FALSE(RequestOf(plan, world.info)->allow_untrained);
  world.info.elastic = false;
  EXPECT_TRUE(RequestOf(plan, world.info)->allow_untrained);
}

// Whichever part of a plan it is that runs one.
TEST(RequestOfPlan, AnUntrainedPartMayBeReplacedByAnother) {
  test::World world = test::Odroid();
  const Plan plan = *MakePlan(world.input(), Asked());
  world.info.min_width = plan.width;
  Plan narrow = plan;
  RunUniformly(plan.layers, plan.width - 1, 2, &narrow);
  Plan with_variant = plan;
  with_variant.variants = {plan, plan};
  EXPECT_FALSE(RequestOf(with_variant, world.info)->allow_untrained);
  with_variant.variants[1] = narrow;
  EXPECT_TRUE(RequestOf(with_variant, world.info)->allow_untrained);
  Plan with_cascade = plan;
  with_cascade.cascade.emplace().levels = {{.plan = plan}, {.plan = plan}};
  EXPECT_FALSE(RequestOf(with_cascade, world.info)->allow_untrained);
  with_cascade.cascade->levels[1].plan = narrow;
  EXPECT_TRUE(RequestOf(with_cascade, world.info)->allow_untrained);
}

TEST(RequestOfPlan, SomePlansHaveNoSuccessor) {
  const test::World world = test::Odroid();
  const Plan plan = *MakePlan(world.input(), Asked());
  Plan other = plan;
  other.target_us.reset();
  EXPECT_TRUE(FailedWith(RequestOf(other, world.info), ErrorKind::kUsage, "has no target"));
  other = plan;
  other.cold = true;
  EXPECT_TRUE(FailedWith(RequestOf(other, world.info), ErrorKind::kUsage, "of a cold start"));
  other = plan;
  other.strategy = Strategy::kStdpl;
  EXPECT_TRUE(FailedWith(RequestOf(other, world.info), ErrorKind::kUsage, "strategy stdpl"));
}

}  // namespace
}  // namespace sti
