// Fallbacks: where a run that gives up goes on, what that takes, and forged ones.
#include "types/fallback.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "types/plan_check.h"

namespace sti {
namespace {

/// Returns a fallback of these layers, whose times are easy to tell apart.
Fallback Of(std::vector<uint32_t> layers) {
  Fallback fallback;
  fallback.layers = std::move(layers);
  fallback.width = 2;
  fallback.bits = 2;
  fallback.embed_us = 1000;
  fallback.layer_us = 100;
  fallback.last_layer_us = 10;
  fallback.head_us = 1;
  fallback.margin_us = 0.5;
  return fallback;
}

const DepthMap kFirst = {{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}};
const DepthMap kSpread = {{3}, {0, 3}, {0, 2, 3}, {0, 1, 2, 3}};

TEST(Fallback, ReservesTimeForAllOfIt) {
  EXPECT_EQ(Of({0, 1, 2}).reserve_us(), 1000 + 200 + 10 + 1 + 0.5);
  EXPECT_EQ(Of({0}).reserve_us(), 1000 + 10 + 1 + 0.5);
  EXPECT_EQ(Of({0, 1, 2}).LayersUs(1), 100 + 10 + 1 + 0.5);
  EXPECT_EQ(Of({0, 1, 2}).LayersUs(3), 1 + 0.5);
}

TEST(Fallback, GoesOnWhereADepthOfTheModelRunsTheseLayers) {
  const std::vector<uint32_t> planned = {0, 1, 2};
  for (const DepthMap& depths : {kFirst, DepthMap()}) {
    EXPECT_EQ(FallbackGoesOnAt(Of({0, 1}), planned, 0, depths), 0u);
    EXPECT_EQ(FallbackGoesOnAt(Of({0, 1}), planned, 1, depths), 1u);
    EXPECT_EQ(FallbackGoesOnAt(Of({0, 1}), planned, 3, depths), 2u);  // the head alone is left
  }
}

TEST(Fallback, StartsFromTheEmbeddingsWhereNoDepthDoes) {
  const std::vector<uint32_t> planned = {0, 2, 3};
  EXPECT_EQ(FallbackGoesOnAt(Of({0, 3}), planned, 0, kSpread), 0u);
  EXPECT_EQ(FallbackGoesOnAt(Of({0, 3}), planned, 1, kSpread), 1u);
  EXPECT_EQ(FallbackGoesOnAt(Of({0, 3}), planned, 2, kSpread), 1u);  // 0, 2 and then 3
  EXPECT_EQ(FallbackGoesOnAt(Of({3}), planned, 2, kSpread), 0u);
  EXPECT_EQ(FallbackGoesOnAt(Of({0, 1}), planned, 1, kSpread), std::nullopt);
  EXPECT_EQ(FallbackNeedUs(Of({0, 1}), planned, 1, kSpread), Of({0, 1}).reserve_us());
  EXPECT_EQ(FallbackNeedUs(Of({0, 3}), planned, 2, kSpread), 10 + 1 + 0.5);
}

TEST(Fallback, HasTheFirstSlicesOfEachLayer) {
  const std::vector<ShardAtBits> shards = ShardsOf(Of({1, 3}));
  EXPECT_EQ(shards, (std::vector<ShardAtBits>{{{1, 0}, 2}, {{1, 1}, 2}, {{3, 0}, 2}, {{3, 1}, 2}}));
}

/// Returns a plan of a model of 4 x 3 shards, and a variant, each with its fallback.
Plan GuaranteedPlan() {
  Plan plan;
  plan.model.bytes[0] = 1;
  plan.length = 16;
  plan.layers = {0, 1};
  plan.width = 1;
  plan.slices = {{0}, {1}};
  plan.bits = {{2}, {3}};
  plan.target_us = 2000;
  plan.times.emplace().layer_io_us = {1, 2};
  plan.fallback = Of({0, 1, 2});
  plan.variants = {plan};
  plan.variants[0].length = 8;
  return plan;
}

struct Forgery {
  void (*break_it)(Plan&);
  ErrorKind kind;
  const char* text;
};

constexpr ErrorKind kForged = ErrorKind::kDamaged;
constexpr ErrorKind kElsewhere = ErrorKind::kForeign;

const Forgery kForgeries[] = {
    {[](Plan& p) { p.fallback->layers.clear(); }, kForged, "fallback.layers is empty"},
    {[](Plan& p) {
       p.fallback->layers = {1, 1};
     },
     kForged, "fallback.layers does not ascend"},
    {[](Plan& p) {
       p.fallback->layers = {0, 4};
     },
     kElsewhere, "fallback: layer 4 is beyond the last"},
    {[](Plan& p) { p.fallback->width = 0; }, kForged, "fallback.width is 0"},
    {[](Plan& p) { p.fallback->width = 4; }, kElsewhere,
     "fallback: width 4 is more than a layer has slices"},
    {[](Plan& p) { p.fallback->bits = 7; }, kForged,
     "fallback: layer 0 slice 0: bits is not 2 to 6, or 32"},
    {[](Plan& p) { p.fallback->bits = 6; }, kElsewhere,
     "fallback: layer 0 slice 0 at 6 bits is not stored"},
    {[](Plan& p) { p.fallback->embed_us = -1; }, kForged,
     "fallback.embed_us is negative or not a finite number"},
    {[](Plan& p) { p.fallback->layer_us = std::nan(""); }, kForged,
     "fallback.layer_us is negative or not a finite number"},
    {[](Plan& p) { p.fallback->cost_bits = INFINITY; }, kForged,
     "fallback.cost_bits is not a finite number up to 10^15"},
    {[](Plan& p) { p.fallback->quality.loss = INFINITY; }, kForged,
     "fallback.predicted_loss is not a finite number up to 10^15"},
    {[](Plan& p) { p.fallback->layer_us = 1000; }, kForged, "fallback takes longer than target_us"},
    {[](Plan& p) { p.target_us.reset(); }, kForged, "a fallback without target_us or times"},
    {[](Plan& p) { p.times.reset(); }, kForged, "a fallback without target_us or times"},
    {[](Plan& p) { p.cold = true; }, kForged, "a cold plan has a fallback"},
    {[](Plan& p) { p.turns.resize(1); }, kForged, "a plan with turns has a fallback"},
    {[](Plan& p) { p.variants[0].fallback.reset(); }, kForged,
     "variants[0]: of it and the plan only one has a fallback"},
    {[](Plan& p) { p.variants[0].fallback->width = 0; }, kForged,
     "variants[0]: fallback.width is 0"}};

TEST(Fallback, EveryForgeryIsNamed) {
  PlanBounds bounds;
  bounds.layers = 4;
  bounds.width = 3;
  bounds.holds = [](const ShardAtBits& shard) { return shard.bits < 6; };
  EXPECT_FALSE(FindPlanFault(GuaranteedPlan(), bounds))
      << FindPlanFault(GuaranteedPlan(), bounds)->text();
  for (const Forgery& rule : kForgeries) {
    Plan plan = GuaranteedPlan();
    rule.break_it(plan);
    const auto fault = FindPlanFault(plan, bounds);
    ASSERT_TRUE(fault) << rule.text;
    EXPECT_EQ(fault->text(), rule.text);
    EXPECT_EQ(fault->kind, rule.kind) << rule.text;
  }
}

}  // namespace
}  // namespace sti
