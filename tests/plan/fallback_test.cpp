// Plans with a guarantee: the choice of the fallback, and what is left for the plan.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/planner.h"
#include "plan/request.h"
#include "plan/timeline.h"
#include "world.h"

namespace sti {
namespace {

/// Returns 4 x 4 shards on a device where IO binds, with A(n, m) measured, at two lengths.
test::World GuaranteedWorld() {
  test::World world(4, 4, {2, 3, 4, 5, 6, 32}, {100, 150, 200, 250, 300, 800});
  world.catalog.block_bytes = 1;
  world.Compute(1, [](uint32_t m) { return 1000.0 + 200 * m; });
  for (uint32_t m = 1; m <= 4; ++m) {
    world.profile.compute.push_back({64, m, 500.0 + 100 * m, 500.0 + 100 * m, 0});
  }
  world.profile.io = {{100, 0, 200, 200}, {800, 0, 1600, 1600}};
  world.profile.fixed = {{128, 100, 200, 50}, {64, 60, 120, 50}};
  world.MeasureSubmodels();
  return world;
}

PlanRequest Guaranteed(double target_us, uint64_t preload_bytes) {
  PlanRequest request;
  request.target_us = target_us;
  request.preload_bytes = preload_bytes;
  request.mode = PlanRequest::Guaranteed{};
  return request;
}

/// Returns what the submodel of a fallback was measured to lose at 2 bits.
double LossOf(const Fallback& fallback) {
  const auto depth = static_cast<double>(fallback.layers.size());
  return 1.2 / std::sqrt(depth * std::sqrt(fallback.width * 1.0));
}

TEST(FallbackChoice, SaysTheF1OfAModelThatLabelsTokens) {
  test::World world = GuaranteedWorld();
  world.info.head = HeadTraits::OfTokenLabels();
  world.importance.metric = Metric::kF1;
  for (SubmodelScore& score : world.importance.submodels) score.accuracy *= 0.7;
  const auto plan = MakePlan(world.input(), Guaranteed(7000, 700));
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->quality.f1 && plan->fallback->quality.f1);
  EXPECT_LE(*plan->fallback->quality.f1, *plan->quality.f1);
  EXPECT_FALSE(plan->fallback->quality.accuracy);
}

TEST(FallbackChoice, NoOtherThatFitsIsBetter) {
  const test::World world = GuaranteedWorld();
  for (const double target_us : {5000.0, 7000.0, 9000.0}) {
    for (const uint64_t bytes : {100, 350, 700, 1600}) {
      const auto plan = MakePlan(world.input(), Guaranteed(target_us, bytes));
      ASSERT_TRUE(plan.ok()) << plan.error().Message();
      const Fallback& fallback = *plan->fallback;
      EXPECT_EQ(fallback.bits, 2u);
      EXPECT_LE(fallback.reserve_us() + 200, target_us);
      EXPECT_LE(plan->preload_bytes + fallback.bytes, bytes);
      EXPECT_EQ(fallback.margin_us, 1000);
      for (uint32_t n = 1; n <= 4; ++n) {
        for (uint32_t m = 1; m <= 4; ++m) {
          const double time_us = 100 + 50 + 200 + 1000 + n * (1000 + 200.0 * m);
          if (time_us > target_us || uint64_t{100} * n * m > bytes) continue;
          EXPECT_GE(1.2 / std::sqrt(n * std::sqrt(m * 1.0)), LossOf(fallback) - 1e-9);
        }
      }
      ASSERT_TRUE(fallback.quality.accuracy);
      EXPECT_NEAR(*fallback.quality.accuracy, 0.5 + 0.10 * 1.2 / LossOf(fallback), 1e-9);
    }
  }
}

TEST(FallbackChoice, ThePlanIsJudgedAsItWasMade) {
  const test::World world = GuaranteedWorld();
  for (double target_us = 3000; target_us < 14000; target_us += 500) {
    for (const uint64_t bytes : {100, 400, 1600, 6400}) {
      const auto plan = MakePlan(world.input(), Guaranteed(target_us, bytes));
      ASSERT_TRUE(plan.ok()) << plan.error().Message();
      EXPECT_TRUE(plan->meets_target);
      const auto verdicts = JudgePlan(world.input(), Judging(), *plan);
      ASSERT_TRUE(verdicts.ok()) << verdicts.error().Message();
      EXPECT_EQ(verdicts->problem(), "");
      EXPECT_EQ(verdicts->plan.latency_us, plan->predicted_latency_us);
      EXPECT_EQ(verdicts->plan.fallback_bytes, plan->fallback->bytes);
      for (const PlanCore& variant : plan->variants) EXPECT_TRUE(variant.fallback);
    }
  }
}

TEST(FallbackChoice, CostsAreThoseOfThePlanWithoutIt) {
  const test::World world = GuaranteedWorld();
  const PlanRequest request = Guaranteed(9000, 800);
  PlanRequest without = request;
  without.mode = PlanRequest::Warm{};
  const auto plan = MakePlan(world.input(), request);
  const auto free = MakePlan(world.input(), without);
  ASSERT_TRUE(plan.ok() && free.ok());
  const auto bits_lost = [](const PlanCore& before, const PlanCore& now) {
    double bits = 0;
    for (uint32_t b : before.bits.values()) bits += b;
    for (uint32_t b : now.bits.values()) bits -= b;
    return bits;
  };
  EXPECT_EQ(plan->fallback->cost_bits, bits_lost(*free, *plan));
  EXPECT_FALSE(free->fallback);
  ASSERT_EQ(plan->variants.size(), 1U);
  ASSERT_EQ(free->variants.size(), 1U);
  const double of_variant = bits_lost(free->variants[0], plan->variants[0]);
  EXPECT_EQ(plan->variants[0].fallback->cost_bits, of_variant);
  EXPECT_NE(of_variant, 0);
}

TEST(FallbackChoice, WhatItCostsIsExplained) {
  const test::World world = GuaranteedWorld();
  std::vector<std::string> lines;
  ASSERT_TRUE(MakePlan(world.input(), Guaranteed(9000, 800), &lines).ok());
  std::erase_if(lines, [](const std::string& line) {
    return !line.starts_with("guarantee: ") && !line.starts_with("fallback ");
  });
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "fallback for 128 tokens: 4x2 at 2 bits, 800 bytes more in the buffer, 6.750 ms "
                "reserved",
                "fallback for 64 tokens: 4x2 at 2 bits, 0 bytes more in the buffer, 3.910 ms "
                "reserved",
                "guarantee: costs 5 of 84 bits of shards; without it accuracy 0.9343"}));
}

/// Asks for 2x4 at 4 bits, beside a fallback of all shards at 2.
PlanRequest GuaranteedAtFourBits() {
  PlanRequest request = Guaranteed(12000, 1600);
  request.length = 128;
  request.submodel = {2, 4};
  request.uniform_bits = 4;
  return request;
}

TEST(FallbackChoice, ItsShardsAreReadWithoutThePlanesAtHand) {
  const test::World world = GuaranteedWorld();
  const auto plan = MakePlan(world.input(), GuaranteedAtFourBits());
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_EQ(plan->fallback->layers.size() * plan->fallback->width, 16u);
  // 4 shards a layer, of each 101 bytes beyond the 100 that are there; 2 us a byte.
  EXPECT_TRUE(plan->preload.empty());
  EXPECT_NEAR(plan->times->layer_io_us[0], 4 * 2 * 101, 1e-6);
}

TEST(FallbackChoice, ItsShardsAreNoLoadsOfATimeline) {
  const test::World world = GuaranteedWorld();
  auto plan = MakePlan(world.input(), GuaranteedAtFourBits());
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  plan->bits.At(0, 1) = 2;  // an edit: the fallback holds all of this shard
  const auto timeline = PlayPlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(timeline.ok()) << timeline.error().Message();
  std::vector<ShardAtBits> loads;
  for (const PlanEvent& event : timeline->events) {
    if (event.kind == LaneSpan::Kind::kLoad) loads.push_back(event.shard);
  }
  std::vector<ShardAtBits> expected;
  for (uint32_t k = 0; k < 2; ++k) {
    for (uint32_t i = 0; i < 4; ++i) {
      if (k != 0 || i != 1) expected.push_back({plan->Id(k, i), 4});
    }
  }
  EXPECT_EQ(loads, expected);
}

TEST(FallbackChoice, ATooSmallBufferNamesTheLeastOne) {
  const test::World world = GuaranteedWorld();
  const auto none = MakePlan(world.input(), Guaranteed(9000, 99));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kInfeasible);
  EXPECT_EQ(none.error().remedy, Remedy::kRaiseInRequest);
  EXPECT_EQ(none.error().value, "preload_bytes to 100 bytes");
  EXPECT_TRUE(MakePlan(world.input(), Guaranteed(9000, 100)).ok());
  const auto late = MakePlan(world.input(), Guaranteed(2000, 6400));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::kInfeasible);
  EXPECT_EQ(late.error().value, "target_us");
}

// Full fidelity is of no use for the fallback's two bits, and planes are.
TEST(FallbackChoice, ItsShardsBesidePreloadedOnesOfFullFidelityCount) {
  const test::World world = GuaranteedWorld();
  for (const uint32_t bits : {4, 32}) {
    PlanRequest request = GuaranteedAtFourBits();
    request.uniform_bits = bits;
    request.target_us = 20000;
    request.preload_bytes = 1600 + 800 * 3;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_TRUE(plan.ok()) << plan.error().Message();
    ASSERT_GE(plan->preload.size(), 3u);
    const uint64_t shared = bits == 4 ? plan->preload.size() : 0;
    const uint64_t shards = plan->fallback->layers.size() * plan->fallback->width;
    EXPECT_EQ(plan->fallback->bytes, 100 * (shards - shared)) << bits;
    EXPECT_LE(plan->preload_bytes + plan->fallback->bytes, request.preload_bytes);
  }
}

TEST(FallbackChoice, RowsThatItHoldsCountInTheBufferAndInThePeak) {
  test::World world = GuaranteedWorld();
  const auto without = MakePlan(world.input(), Guaranteed(9000, 800));
  world.fallback_token_bytes = 2;  // 256 bytes for 128 tokens
  const auto none = MakePlan(world.input(), Guaranteed(9000, 355));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().value, "preload_bytes to 356 bytes");
  const auto plan = MakePlan(world.input(), Guaranteed(9000, 800));
  ASSERT_TRUE(plan.ok() && without.ok());
  const Fallback& fallback = *plan->fallback;
  EXPECT_GE(plan->preload_bytes + fallback.bytes,
            256 + 100 * fallback.layers.size() * fallback.width);
  EXPECT_LE(plan->preload_bytes + fallback.bytes, 800u);
  EXPECT_LT(fallback.layers.size() * fallback.width,
            without->fallback->layers.size() * without->fallback->width);
  const auto verdicts = JudgePlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(verdicts.ok()) << verdicts.error().Message();
  EXPECT_EQ(verdicts->problem(), "");
  EXPECT_EQ(verdicts->plan.fallback_bytes, fallback.bytes);
  Judging roomy;
  roomy.memory_bytes = plan->predicted_peak_bytes;
  EXPECT_TRUE(JudgePlan(world.input(), roomy, *plan)->plan.fits_memory);
  world.fallback_token_bytes = 20;
  const auto more = JudgePlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->plan.peak_bytes, verdicts->plan.peak_bytes + 18 * 128);
}

TEST(FallbackChoice, ShardsThatComeTooLateToGiveUpAreFound) {
  const test::World world = GuaranteedWorld();
  auto plan = MakePlan(world.input(), Guaranteed(9000, 100));
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  plan->variants.clear();
  // An edit makes the fallback need almost all of the target.
  plan->fallback->head_us = 9000 - plan->fallback->reserve_us();
  const auto verdict = CheckPlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(verdict.ok()) << verdict.error().Message();
  EXPECT_EQ(verdict->problem, "waits for shards when its fallback would no longer be in time");
}

TEST(FallbackChoice, MemoryHoldsItToo) {
  const test::World world = GuaranteedWorld();
  const auto plan = MakePlan(world.input(), Guaranteed(9000, 1600));
  ASSERT_TRUE(plan.ok());
  PlanRequest bounded = Guaranteed(9000, 1600);
  bounded.judging.memory_bytes = plan->predicted_peak_bytes;
  const auto same = MakePlan(world.input(), bounded);
  ASSERT_TRUE(same.ok()) << same.error().Message();
  EXPECT_LE(same->predicted_peak_bytes, plan->predicted_peak_bytes);
}

TEST(FallbackChoice, AReplacementIsGuaranteedToo) {
  const test::World world = GuaranteedWorld();
  const auto plan = MakePlan(world.input(), Guaranteed(9000, 800));
  ASSERT_TRUE(plan.ok());
  const auto request = RequestOf(*plan, world.info);
  ASSERT_TRUE(request.ok()) << request.error().Message();
  EXPECT_TRUE(request->guarantee());
  EXPECT_EQ(request->preload_bytes, plan->preload_bytes + plan->fallback->bytes);
  EXPECT_TRUE(MakePlan(world.input(), *request).ok());
}

TEST(FallbackChoice, SomeRequestsHaveNone) {
  const std::vector<std::pair<std::function<void(PlanRequest&)>, std::string>> cases = {
      {[](PlanRequest& r) { r.strategy = Strategy::kStiPaper; }, "a guarantee is for the strategy"},
      {[](PlanRequest& r) { r.min_accuracy = 0.5; }, "a least accuracy is not"},
      {[](PlanRequest& r) { r.io_budget_bytes = 100; }, "an IO budget is spent"},
      {[](PlanRequest& r) {
         r.target_us.reset(), r.submodel = {1, 1};
       },
       "a guarantee is for a target"}};
  for (const auto& [change, words] : cases) {
    PlanRequest request = Guaranteed(9000, 0);
    change(request);
    const Status status = ValidateRequest(request);
    ASSERT_FALSE(status.ok()) << words;
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(status.error().what.substr(0, words.size()), words);
  }
}

}  // namespace
}  // namespace sti
