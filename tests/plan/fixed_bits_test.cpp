#include <gtest/gtest.h>

#include "plan/planner.h"
#include "world.h"

namespace sti {
namespace {

TEST(FixedBits, FiguresFollowTheDelayModel) {
  const test::World world = test::Odroid();
  PlanRequest request;
  request.submodel = {2, 3};
  request.strategy = Strategy::kLoadExec;
  auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_DOUBLE_EQ(plan->predicted_latency_us, 6 * 13500 + 2 * 39000);
  EXPECT_TRUE(plan->aib_us.empty());
  EXPECT_EQ(plan->bits.At(0, 0), 32u);
  request.strategy = Strategy::kStdpl;
  plan = MakePlan(world.input(), request);
  EXPECT_DOUBLE_EQ(plan->predicted_latency_us, 3 * 3100 + 2 * 39000);
  EXPECT_EQ(plan->aib_us.size(), 2u);
  EXPECT_TRUE(plan->preload.empty());
  request.strategy = Strategy::kPreload;
  plan = MakePlan(world.input(), request);
  EXPECT_DOUBLE_EQ(plan->predicted_latency_us, 2 * 39000);
  EXPECT_EQ(plan->preload.size(), 6u);
  EXPECT_EQ(plan->preload_bytes, 6 * 450000u);
  EXPECT_TRUE(plan->aib_us.empty());
}

TEST(FixedBits, InfeasibleAndUnknownBits) {
  const test::World world = test::Odroid();
  PlanRequest request;
  request.target_us = 10e3;
  for (const Strategy strategy : {Strategy::kLoadExec, Strategy::kStdpl, Strategy::kPreload}) {
    request.strategy = strategy;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().kind, ErrorKind::kInfeasible);
    EXPECT_NE(plan.error().Message().find("smallest feasible target"), std::string::npos);
  }
  request.uniform_bits = 8;
  EXPECT_EQ(MakePlan(world.input(), request).error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace sti
