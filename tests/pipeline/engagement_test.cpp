#include "pipeline/core/engagement.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sti {
namespace {

using Kept = std::vector<ShardAtBits>;

constexpr RouteId kPlan{0};
constexpr RouteId kVariant{1};

// Two layers of two slices: 2 bits in the first of three turns, then 3, then 4. Each turn begins
// with one shard more.
Plan ThreeTurns() {
  Plan plan;
  plan.length = 32;
  plan.layers = {0, 1};
  plan.width = 2;
  plan.slices = {{0, 1}, {1, 0}};
  plan.bits = {{2, 2}, {2, 2}};
  plan.turns.resize(3);
  plan.turns[0].bits = plan.bits;
  plan.turns[1].bits = {{3, 3}, {3, 3}};
  plan.turns[1].preload = {{{0, 0}, 2}};
  plan.turns[2].bits = {{4, 4}, {4, 4}};
  plan.turns[2].preload = {{0, 0, 3}, {0, 1, 3}};
  Plan variant = plan;
  variant.length = 8;
  variant.turns.clear();
  variant.bits = {{6, 6}, {6, 6}};
  plan.variants = {variant};
  return plan;
}

uint64_t TenBytesABit(const ShardAtBits& shard) { return 10 * shard.bits; }

Kept Copy(std::span<const ShardAtBits> shards) { return {shards.begin(), shards.end()}; }

TEST(Engagement, RunsOfThePlanAreTurnsAndTheLastIsRepeated) {
  const Plan plan = ThreeTurns();
  Engagement engagement(plan, kPlan, TenBytesABit);
  for (const size_t turn : {0, 1, 2, 2, 2}) {
    EXPECT_EQ(engagement.turn(), turn);
    EXPECT_EQ(engagement.BitsOf(kPlan), plan.turns[turn].bits);
    EXPECT_EQ(Copy(engagement.KeptBefore(kPlan)), plan.turns[turn].preload);
    EXPECT_EQ(Copy(engagement.KeptAfter(kPlan)), plan.turns[std::min<size_t>(turn + 1, 2)].preload);
    engagement.NoteRun(kPlan);
  }
  engagement.End();
  EXPECT_EQ(engagement.turn(), 0U);
  EXPECT_EQ(engagement.BitsOf(kPlan), plan.bits);
}

TEST(Engagement, ARunUnderAVariantIsNoTurn) {
  const Plan plan = ThreeTurns();
  Engagement engagement(plan, kPlan, TenBytesABit);
  engagement.NoteRun(kVariant);
  engagement.NoteRun(kVariant);
  EXPECT_EQ(engagement.turn(), 0U);
  EXPECT_EQ(engagement.BitsOf(kVariant), plan.variants[0].bits);
  EXPECT_TRUE(engagement.KeptAfter(kVariant).empty()) << "turns have other use for the room";
}

TEST(Engagement, WithoutTurnsAVariantKeepsItsPartOfThePlans) {
  Plan plan = ThreeTurns();
  plan.turns.clear();
  plan.preload = {{{0, 0}, 2}, {0, 1, 2}};
  plan.variants[0].bits.At(0, 1) = 2;
  plan.variants[0].preload = {{0, 1, 2}};
  Engagement engagement(plan, kPlan, TenBytesABit);
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(Copy(engagement.KeptBefore(kPlan)), plan.preload);
    EXPECT_EQ(Copy(engagement.KeptAfter(kPlan)), plan.preload);
    EXPECT_EQ(Copy(engagement.KeptAfter(kVariant)), plan.variants[0].preload);
    EXPECT_EQ(engagement.turn(), 0U);
    engagement.NoteRun(kPlan);
  }
}

TEST(Engagement, ABoundKeepsShardsFromTheBottomAtTheBitsOfTheTurn) {
  const Plan plan = ThreeTurns();
  Engagement engagement(plan, kPlan, TenBytesABit);
  EXPECT_TRUE(engagement.buffer_as_planned());
  engagement.Limit(69);
  EXPECT_FALSE(engagement.buffer_as_planned());
  EXPECT_EQ(Copy(engagement.KeptBefore(kPlan)), (Kept{{{0, 0}, 2}, {0, 1, 2}, {1, 1, 2}}));
  engagement.NoteRun(kPlan);
  EXPECT_EQ(Copy(engagement.KeptBefore(kPlan)), (Kept{{0, 0, 3}, {0, 1, 3}}));
  engagement.End();
  engagement.Limit(0);
  EXPECT_TRUE(engagement.KeptAfter(kPlan).empty());
  engagement.Limit(1000);
  EXPECT_EQ(engagement.KeptAfter(kPlan).size(), 4U);
  EXPECT_TRUE(engagement.KeptAfter(kVariant).empty()) << "the buffer is for the plan's";
}

TEST(Engagement, AVariantThatStandsInForThePlanHasTheBoundedBuffer) {
  Plan plan = ThreeTurns();
  plan.turns.clear();
  Engagement engagement(plan, kVariant, TenBytesABit);
  engagement.Limit(120);
  EXPECT_EQ(Copy(engagement.KeptAfter(kVariant)), (Kept{{0, 0, 6}, {0, 1, 6}}));
}

TEST(Engagement, ACascadeLevelKeepsWhatLaterOnesRunUntilTheyHave) {
  Plan plan = ThreeTurns();
  plan.turns.clear();
  plan.variants.clear();
  plan.bits = {{5, 5}, {5, 5}};
  Plan level = plan;
  level.layers = {0};
  level.slices = {{0, 1}};
  level.bits = {{3, 32}};
  level.preload = {{0, 0, 3}};
  plan.cascade.emplace();
  plan.cascade->levels = {{.plan = level}};
  plan.cascade->levels[0].plan.preload = {{0, 1, 32}};
  const RouteId first = CascadeRoute(plan, 0);
  const RouteId last = CascadeRoute(plan, 1);
  EXPECT_EQ(last, kPlan);
  Engagement engagement(plan, first, TenBytesABit);
  for (int input = 0; input < 2; ++input) {
    EXPECT_EQ(Copy(engagement.KeptBetween()), (Kept{{0, 1, 32}}));
    EXPECT_EQ(Copy(engagement.KeptBefore(first)), (Kept{{0, 1, 32}}));
    EXPECT_EQ(Copy(engagement.KeptAfter(first)), (Kept{{0, 1, 32}, {0, 0, 3}}));
    EXPECT_EQ(Copy(engagement.KeptAfter(last)), (Kept{{0, 1, 32}}));
    EXPECT_EQ(engagement.BitsOf(first), level.bits);
    EXPECT_EQ(engagement.BitsOf(last), plan.bits);
    engagement.NoteRun(first);
    engagement.NoteRun(last);
    EXPECT_EQ(engagement.turn(), 0U);
  }
  engagement.Limit(30);
  EXPECT_EQ(Copy(engagement.KeptBetween()), (Kept{{0, 0, 3}})) << "the first level's, from below";
  EXPECT_EQ(Copy(engagement.KeptAfter(last)), (Kept{{0, 0, 3}}));
}

TEST(Engagement, WhatACallerKeptIsNotAsPlannedUntilTheNextRun) {
  const Plan plan = ThreeTurns();
  Engagement engagement(plan, kPlan, TenBytesABit);
  engagement.NoteRun(kPlan, KeptBy::kCaller);
  EXPECT_FALSE(engagement.buffer_as_planned());
  engagement.NoteRun(kPlan);
  EXPECT_TRUE(engagement.buffer_as_planned());
}

}  // namespace
}  // namespace sti
