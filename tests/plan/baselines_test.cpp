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

TEST(Baselines, Table6) {
  const test::World odroid = test::Odroid();
  const test::World jetson = test::Jetson();
  EXPECT_EQ(Row(odroid, "preload", 6), "3x3 5x3 10x3");
  EXPECT_EQ(Row(odroid, "preload", 32), "3x3 5x3 10x3");
  EXPECT_EQ(Row(jetson, "preload", 6), "2x12 3x12 7x12");
  EXPECT_EQ(Row(odroid, "stdpl", 2), "?");
  EXPECT_EQ(Row(odroid, "stdpl", 6), "?");
  EXPECT_EQ(Row(odroid, "stdpl", 32), "?");
  EXPECT_EQ(Row(odroid, "load-exec", 0), "?");
  EXPECT_EQ(Row(odroid, "sti", 0), "?");
  EXPECT_EQ(Row(jetson, "stdpl", 2), "?");
  EXPECT_EQ(Row(jetson, "stdpl", 6), "?");
  EXPECT_EQ(Row(jetson, "stdpl", 32), "?");
  EXPECT_EQ(Row(jetson, "load-exec", 0), "?");
  EXPECT_EQ(Row(jetson, "sti", 0), "?");
}

}  // namespace
}  // namespace sti
