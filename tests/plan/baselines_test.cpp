#include <gtest/gtest.h>

#include "plan/planner.h"
#include "world.h"

namespace sti {
namespace {

std::string Row(const test::World& world, const char* strategy, uint32_t bits,
                uint64_t preload_bytes = 0) {
  std::string row;
  for (double target_us : {150e3, 200e3, 400e3}) {
    PlanRequest request;
    request.strategy = strategy;
    if (bits != 0) request.uniform_bits = bits;
    request.target_us = target_us;
    request.preload_bytes = preload_bytes;
    const auto plan = MakePlan(world.input(), request);
    row += (row.empty() ? "" : " ") +
           (plan.ok() ? std::to_string(plan->layers.size()) + "x" + std::to_string(plan->width)
                      : std::string("none"));
  }
  return row;
}

// STI Table 6 from rough device figures. Beside each row that differs: the paper's, and why.
TEST(Baselines, Table6) {
  const test::World odroid = test::Odroid();
  const test::World jetson = test::Jetson();
  EXPECT_EQ(Row(odroid, "preload", 6), "3x3 5x3 10x3");
  EXPECT_EQ(Row(odroid, "preload", 32), "3x3 5x3 10x3");
  EXPECT_EQ(Row(jetson, "preload", 6), "2x12 3x12 7x12");
  EXPECT_EQ(Row(jetson, "preload", 32), "2x12 3x12 7x12");
  EXPECT_EQ(Row(odroid, "stdpl", 6), "3x3 4x3 10x3");
  // Paper: 3x3 4x3 10x3. 5x3 computes in 195 ms and its first layer loads in 3.3 of the 5 ms left;
  // the paper's flash was slower to start.
  EXPECT_EQ(Row(odroid, "stdpl", 2), "3x3 5x3 10x3");
  // Paper: 2x12 3x12 7x12. The first layer of 7x12 needs 19.2 ms of the 18.5 left.
  EXPECT_EQ(Row(jetson, "stdpl", 2), "2x12 3x12 7x11");
  // Paper: 2x8 3x7 7x3. The paper kept the depth of 7 at less than half the shards; its own rule
  // (5.3: most shards, depth only among similar numbers) takes 6x11.
  EXPECT_EQ(Row(jetson, "stdpl", 6), "2x8 3x7 6x11");
  // Paper: 1x4 1x5 3x3 for load-exec and stdpl alike, and on the Jetson 2x1 3x1 5x1. Its full
  // fidelity loads slower than the 13.5 and 26 ms a shard that the quantised sizes suggest (339 ms
  // a layer of 12, section 2), so slow that nothing overlaps; and 1x4 and 1x5 over 3x3 at the next
  // target is not the rule of 5.3 at any one bandwidth.
  EXPECT_EQ(Row(odroid, "stdpl", 32), "2x3 3x3 8x3");
  EXPECT_EQ(Row(odroid, "load-exec", 0), "1x5 2x3 5x3");
  EXPECT_EQ(Row(jetson, "stdpl", 32), "1x3 2x2 6x2");
  EXPECT_EQ(Row(jetson, "load-exec", 0), "1x3 1x5 2x5");
  // Ours-0MB has no row in Table 6. Without a preload the Jetson's 7x12 cannot start in time.
  EXPECT_EQ(Row(odroid, "sti", 0), "3x3 5x3 10x3");
  EXPECT_EQ(Row(jetson, "sti", 0), "2x12 3x12 7x11");
}

TEST(Baselines, FiguresFollowTheDelayModel) {
  const test::World world = test::Odroid();
  PlanRequest request;
  request.submodel = {2, 3};
  request.strategy = "load-exec";
  auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->predicted_latency_us, 6 * 13500 + 2 * 39000);
  EXPECT_TRUE(plan->aib_us.empty());
  EXPECT_EQ(plan->bits[0][0], 32u);
  request.strategy = "stdpl";
  plan = MakePlan(world.input(), request);
  EXPECT_DOUBLE_EQ(plan->predicted_latency_us, 3 * 3100 + 2 * 39000);
  EXPECT_EQ(plan->aib_us.size(), 2u);
  EXPECT_TRUE(plan->preload.empty());
  request.strategy = "preload";
  plan = MakePlan(world.input(), request);
  EXPECT_DOUBLE_EQ(plan->predicted_latency_us, 2 * 39000);
  EXPECT_EQ(plan->preload.size(), 6u);
  EXPECT_EQ(plan->preload_bytes, 6 * 450000u);
  EXPECT_TRUE(plan->aib_us.empty());
}

TEST(Baselines, InfeasibleAndUnknownBits) {
  const test::World world = test::Odroid();
  PlanRequest request;
  request.target_us = 10e3;
  for (const char* strategy : {"load-exec", "stdpl", "preload"}) {
    request.strategy = strategy;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().kind, ErrorKind::kInfeasible);
    EXPECT_NE(plan.error().message.find("smallest feasible target"), std::string::npos);
  }
  request.uniform_bits = 8;
  EXPECT_EQ(MakePlan(world.input(), request).error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace sti
