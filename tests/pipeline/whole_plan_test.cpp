#include "pipeline/whole_plan.h"

#include "base/remedy.h"
#include "pipeline_world.h"
#include "types/plan.h"

namespace sti {
namespace {

class WholePlanTest : public PipelineTest {};

TEST_F(WholePlanTest, DefaultsAreTheWholeModelAtItsMost) {
  const auto plan = MakeWholePlan(index_, {});
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->model, index_.model);
  EXPECT_EQ(plan->shape, ShapeDigest(index_.info));
  EXPECT_EQ(plan->length, 32U);
  EXPECT_EQ(plan->layers, (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(plan->width, 4U);
  for (uint32_t k = 0; k < 5; ++k) {
    for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(plan->slices.At(k, i), i);
  }
  EXPECT_EQ(plan->bits, Grid<uint32_t>(5, 4, kFullBits));
  EXPECT_TRUE(plan->preload.empty());
  EXPECT_FALSE(plan->target_us.has_value());
}

TEST_F(WholePlanTest, SubmodelsFollowTheDepthMap) {
  WholePlanOptions options;
  options.depth = 2;
  options.width = 3;
  options.bits = 4;
  options.length = 16;
  const auto plan = MakeWholePlan(index_, options);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->layers, index_.info.depth_layers[1]);
  EXPECT_EQ(plan->slices, (Grid<uint32_t>{{0, 1, 2}, {0, 1, 2}}));
  EXPECT_EQ(plan->bits, Grid<uint32_t>(2, 3, 4));
  EXPECT_EQ(plan->length, 16U);
  EXPECT_EQ(Logits(*plan).size(), 3U);
}

TEST_F(WholePlanTest, WhatTheModelDoesNotHaveIsAUsageError) {
  auto with = [&](auto edit) {
    WholePlanOptions options;
    edit(options);
    return MakeWholePlan(index_, options);
  };
  EXPECT_TRUE(FailedWith(with([](auto& o) { o.depth = 0; }), ErrorKind::kUsage, "submodel 0x4"));
  EXPECT_TRUE(FailedWith(with([](auto& o) { o.depth = 6; }), ErrorKind::kUsage, "submodel 6x4"));
  EXPECT_TRUE(FailedWith(with([](auto& o) { o.width = 0; }), ErrorKind::kUsage, "submodel 5x0"));
  EXPECT_TRUE(FailedWith(with([](auto& o) { o.width = 5; }), ErrorKind::kUsage, "submodel 5x5"));
  EXPECT_TRUE(FailedWith(with([](auto& o) { o.bits = 7; }), ErrorKind::kUsage, "no 7-bit"));
  EXPECT_TRUE(FailedWith(with([](auto& o) { o.bits = 0; }), ErrorKind::kUsage, "no 0-bit"));
  EXPECT_TRUE(FailedWith(with([](auto& o) { o.length = 33; }), ErrorKind::kUsage, "length 33"));
}

TEST_F(WholePlanTest, AContainerThatLacksPartsCannotMeetIt) {
  ContainerIndex partial = index_;
  partial.partial = true;
  WholePlanOptions options;
  for (const uint32_t bits : {2U, 7U}) {  // also where its plans read none of these bits
    options.bits = bits;
    EXPECT_TRUE(FailedWith(MakeWholePlan(partial, options), ErrorKind::kInfeasible,
                           "the container holds only what some plans read", Remedy::kGiveItsPlan));
  }
}

}  // namespace
}  // namespace sti
