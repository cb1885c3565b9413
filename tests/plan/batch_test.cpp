// Plans for passes of several images.
#include <gtest/gtest.h>

#include "plan/judge.h"
#include "plan/planner.h"
#include "support/expect.h"
#include "types/plan_check.h"
#include "world.h"

namespace sti {
namespace {

// A layer takes 100 us of one image of 10 tokens and 220 of four; a shard loads in 40 us.
struct ImageWorld {
  test::World world{2, 1, {2, 4}, {40 * 4096, 80 * 4096}};

  ImageWorld() {
    world.info.shape.image = ImageShape{.size = 12, .patch = 4, .channels = 3};
    world.info.shape.max_positions = 10;
    world.info.shape.vocabulary = 0;
    world.profile.compute = {{10, 1, 100, 100, 0}};
    world.profile.fixed = {{10, 5, 0, 7, 0, 0, 0}};
    world.profile.batches = {{4, {{10, 1, 220, 220, 0}}, {{10, 20, 0, 9, 0, 0, 0}}}};
    world.profile.io = {{4096, 0, 1, 1}, {1000 * 4096, 0, 1000, 1000}};
    world.profile.process_bytes = 4096;
  }
  [[nodiscard]] Result<Plan> Make(const PlanRequest& request) const {
    return MakePlan(world.input(), request);
  }
};

PlanRequest ForBatches(std::vector<uint32_t> batches) {
  PlanRequest request;
  request.submodel = {2, 1};
  request.uniform_bits = 2;
  request.batches = std::move(batches);
  return request;
}

TEST(Batch, APlanIsForTheMostImagesAndItsVariantsForTheOthers) {
  const ImageWorld world;
  const auto plan = world.Make(ForBatches({1, 4}));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->microbatch, 4U);
  EXPECT_EQ(plan->Extent().tokens, 40U);
  EXPECT_EQ(plan->Extent().sequences, 4U);
  // Embedded at 20; layers are there at 40 and 80, done at 260 and 480.
  EXPECT_NEAR(plan->predicted_latency_us, 489, 1e-9);
  ASSERT_EQ(plan->variants.size(), 1U);
  EXPECT_EQ(plan->variants[0].microbatch, 1U);
  EXPECT_EQ(plan->variants[0].length, plan->length);
  EXPECT_NEAR(plan->variants[0].predicted_latency_us, 247, 1e-9);
  EXPECT_EQ(FindPlanFault(*plan, {}), std::nullopt);
  EXPECT_GT(plan->predicted_peak_bytes, plan->variants[0].predicted_peak_bytes)
      << "rows of four images";
  const auto again = RequestOf(*plan, world.world.info);
  EXPECT_TRUE(FailedWith(again, ErrorKind::kUsage, "no target"));
}

TEST(Batch, ATargetIsForAllImagesOfAPass) {
  const ImageWorld world;
  PlanRequest request = ForBatches({4});
  request.target_us = 480;
  EXPECT_TRUE(FailedWith(world.Make(request), ErrorKind::kInfeasible, "smallest feasible target"));
  request.target_us = 510;
  const auto plan = world.Make(request);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_TRUE(plan->meets_target && plan->variants.empty());
  const auto verdict = CheckPlan(world.world.input(), {}, *plan);
  ASSERT_TRUE(Succeeded(verdict));
  EXPECT_NEAR(verdict->latency_us, plan->predicted_latency_us, 1e-9);
}

TEST(Batch, WhatHasNoBatchIsSaid) {
  ImageWorld world;
  EXPECT_TRUE(FailedWith(world.Make(ForBatches({2})), ErrorKind::kDamaged, "passes of 2 inputs"));
  EXPECT_TRUE(FailedWith(world.Make(ForBatches({0})), ErrorKind::kUsage, "1 to 256 images"));
  EXPECT_TRUE(FailedWith(world.Make(ForBatches({257})), ErrorKind::kUsage, "1 to 256 images"));
  world.world.info.shape.image.reset();
  world.world.info.shape.vocabulary = 100;
  EXPECT_TRUE(FailedWith(world.Make(ForBatches({4})), ErrorKind::kUsage, "in no batch"));
}

TEST(Batch, APlanOfSeveralHasNothingThatIsAboutOne) {
  const ImageWorld world;
  Plan plan = *world.Make(ForBatches({1, 4}));
  const auto fault = [](const Plan& of) {
    return FindPlanFault(of, {}).value_or(PlanFault{}).what;
  };
  EXPECT_EQ(fault(plan), "");
  Plan twice = plan;
  twice.variants.push_back(plan.variants[0]);
  EXPECT_EQ(fault(twice), "its length, batch and freq are planned already");
  Plan context = plan;
  context.context = context.variants[0].context = plan.length;
  EXPECT_EQ(fault(context),
            "a plan with a batch has turns, a cascade, a fallback, a context or stages");
  Plan large = plan;
  large.length = kMaxLength / 2;
  EXPECT_EQ(fault(large), "batch times length is more than 2^20 tokens");
  large.microbatch = 257;
  EXPECT_EQ(fault(large), "batch is not from 1 to 256");
}

}  // namespace
}  // namespace sti
