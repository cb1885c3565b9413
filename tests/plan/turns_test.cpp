#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "plan/judge.h"
#include "plan/search/search.h"
#include "world.h"

namespace sti {
namespace {

/// A random device on which IO binds.
test::World IoBound(test::Random& random) {
  const uint32_t layers = 1 + random.Below(6);
  const uint32_t width = 1 + random.Below(4);
  test::World world(layers, width, {2, 3, 4, 5, 6, 32}, {100, 150, 200, 250, 300, 800});
  world.catalog.block_bytes = 10;
  const double layer_us = 5 + random.Below(40);
  world.Compute(1, [&](uint32_t) { return layer_us; });
  world.Io({20, 30, 40, 50, 60, 160});
  world.profile.fixed = {{128, 0, double(random.Below(10)), 0}};
  return world;
}

using Held = std::map<ShardId, uint32_t>;

Held HeldOf(const PlanTurn& turn) {
  Held held;
  for (const ShardAtBits& shard : turn.preload) held[shard.id] = shard.bits;
  return held;
}

/// Bytes that a turn must read, counted anew: prefixes of planes, full fidelity apart.
uint64_t BytesToRead(const test::World& world, const Plan& plan, const PlanTurn& turn) {
  const std::map<uint32_t, uint64_t> size = {{2, 100}, {3, 150}, {4, 200},
                                             {5, 250}, {6, 300}, {32, 800}};
  const Held held = HeldOf(turn);
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const uint32_t bits = turn.bits.At(k, i);
      const auto found = held.find(plan.Id(k, i));
      if (found == held.end()) {
        bytes += size.at(bits);
      } else if (bits == 32 && found->second != 32) {
        bytes += size.at(32);
      } else if (bits > found->second) {
        bytes += size.at(bits) - size.at(found->second) + world.catalog.block_bytes;
      }
    }
  }
  return bytes;
}

TEST(Turns, FidelityNeverFallsAndWhatIsHeldIsNotReadAgain) {
  test::Random random(31);
  int better = 0;
  int cases = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const test::World world = IoBound(random);
    PlanRequest request;
    request.target_us = 40 + random.Below(900);
    request.preload_bytes = random.Below(600);
    request.mode = PlanRequest::Turns{4, request.preload_bytes + random.Below(2000)};
    const auto plan = MakePlan(world.input(), request);
    if (!plan.ok()) continue;
    ++cases;
    ASSERT_EQ(plan->turns.size(), 4u);
    ASSERT_EQ(plan->turns[0].bits, plan->bits);
    ASSERT_EQ(plan->turns[0].preload, plan->preload);
    ASSERT_EQ(plan->turn_bytes.value_or(0), *request.turns()->bytes);
    for (size_t t = 1; t < 4; ++t) {
      const PlanTurn& before = plan->turns[t - 1];
      const PlanTurn& turn = plan->turns[t];
      ASSERT_LE(turn.preload_bytes, *request.turns()->bytes) << trial;
      ASSERT_LE(turn.read_bytes, before.read_bytes) << trial;
      if (turn.bits != before.bits) {
        ASSERT_LT(turn.read_bytes, before.read_bytes) << trial;
      }
      ASSERT_EQ(turn.read_bytes, BytesToRead(world, *plan, turn)) << trial;
      ASSERT_LE(turn.predicted_p99_us, *request.target_us + 1e-6) << trial;
      for (const auto& [id, bits] : HeldOf(turn)) {
        const auto k = std::find(plan->layers.begin(), plan->layers.end(), id.layer);
        // A shard that stays has the bits that the turn before had computed with.
        ASSERT_EQ(before.bits.At(uint32_t(k - plan->layers.begin()), id.slice), bits) << trial;
      }
      for (size_t shard = 0; shard < turn.bits.values().size(); ++shard)
        ASSERT_GE(turn.bits.values()[shard], before.bits.values()[shard]) << trial;
      better += turn.bits != before.bits ? 1 : 0;
    }
  }
  EXPECT_GT(cases, 200);
  EXPECT_GT(better, 100);
}

/// A plan of three turns, of which the second reads more bits than the first.
Plan ThreeTurns(const test::World& world) {
  PlanRequest request;
  request.target_us = 700;
  request.preload_bytes = 300;
  request.mode = PlanRequest::Turns{3, 1500};
  const auto plan = MakePlan(world.input(), request);
  EXPECT_TRUE(plan.ok() && plan->turns[1].bits != plan->bits);
  return *plan;
}

TEST(Turns, AreJudgedAsTheyWerePlanned) {
  test::Random random(34);
  const test::World world = IoBound(random);
  const Plan plan = ThreeTurns(world);
  const auto checks = CheckTurns(world.input(), {}, plan);
  ASSERT_TRUE(checks.ok()) << checks.error().Message();
  ASSERT_EQ(checks->size(), 3u);
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_TRUE((*checks)[t].valid) << (*checks)[t].problem;
    EXPECT_EQ((*checks)[t].latency_us, plan.turns[t].predicted_latency_us);
    EXPECT_EQ((*checks)[t].p99_us, plan.turns[t].predicted_p99_us);
    EXPECT_EQ((*checks)[t].parameter_bytes, plan.turns[t].read_bytes);
  }
  // A turn that forgets what it holds reads it again, and is late: an answer, not an error.
  Plan late = plan;
  late.target_us = plan.turns[2].predicted_p99_us;
  late.turns[2].preload.clear();
  const auto again = CheckTurns(world.input(), {}, late);
  ASSERT_TRUE(again.ok()) << again.error().Message();
  EXPECT_FALSE((*again)[2].valid);
  EXPECT_NE((*again)[2].problem.find("takes "), std::string::npos);
}

TEST(Turns, ReadAheadOfTheirTextAreQuicker) {
  test::Random random(34);
  const test::World world = IoBound(random);
  Plan plan = ThreeTurns(world);
  plan.wake_us = 1e6;
  const auto checks = CheckTurns(world.input(), {}, plan);
  ASSERT_TRUE(checks.ok()) << checks.error().Message();
  for (size_t t = 0; t < 3; ++t) {
    ASSERT_GT(plan.turns[t].read_bytes, 0u);
    EXPECT_LT((*checks)[t].latency_us, plan.turns[t].predicted_latency_us) << t;
  }
}

TEST(Turns, ThatBreakARuleOrAreBeyondTheProfileAreErrors) {
  test::Random random(34);
  test::World world = IoBound(random);
  const Plan plan = ThreeTurns(world);
  Plan falls = plan;
  falls.turns[2].bits.At(0, 0) = 2;
  falls.turns[1].bits.At(0, 0) = 6;
  const auto refused = CheckTurns(world.input(), {}, falls);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(refused.error().Message(), "plan: turns[2]: layer " + std::to_string(plan.layers[0]) +
                                           " slice 0 has fewer bits than in the turn before");
  world.profile.io.pop_back();  // 32 bits
  Plan exact = plan;
  exact.turns[2].bits.At(0, 0) = 32;
  const auto unknown = CheckTurns(world.input(), {}, exact);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
  EXPECT_NE(unknown.error().Message().find("no load time for 32 bits"), std::string::npos);
}

TEST(Turns, WithoutRoomNothingChanges) {
  test::Random random(33);
  const test::World world = IoBound(random);
  PlanRequest request;
  request.target_us = 800;
  request.mode = PlanRequest::Turns{3};
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->turns[2].bits, plan->bits);
  EXPECT_EQ(plan->turns[2].read_bytes, plan->parameter_bytes);
}

}  // namespace
}  // namespace sti
