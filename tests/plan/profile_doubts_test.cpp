#include "plan/profile_doubts.h"

#include <gtest/gtest.h>

#include "plan/planner.h"
#include "support/expect.h"
#include "world.h"

namespace sti {
namespace {

/// A model of 12 slices of 64 of 768 hidden channels: a slice has 589824 weights, and at 128 tokens
/// a layer of 12 slices does 2 * 12 * 128 * (589824 + 2 * 128 * 64) = 1.862e9 operations.
ModelShape Base() {
  ModelShape shape;
  shape.layers = 12;
  shape.width = 12;
  shape.hidden = 768;
  shape.ffn = 3072;
  return shape;
}

constexpr uint64_t kShardWeights = 589824;

/// A profile of one layer of 12 slices at 128 tokens.
DeviceProfile ProfileOf(double layer_us, uint32_t threads) {
  DeviceProfile profile;
  profile.threads = threads;
  profile.compute = {{128, 12, layer_us}};
  return profile;
}

TEST(ProfileDoubts, SpeedsThatNoCoreHas) {
  EXPECT_TRUE(DoubtsAbout(ProfileOf(30'000, 0), Base(), kShardWeights).empty());
  EXPECT_TRUE(DoubtsAbout(ProfileOf(1'900, 1), Base(), kShardWeights).empty())
      << "just below 1 TFLOP/s";
  const auto fast =
      DoubtsAbout(ProfileOf(30, 1), Base(), kShardWeights);  // milliseconds for microseconds
  ASSERT_EQ(fast.size(), 1U);
  EXPECT_EQ(fast[0].rfind("compute[0] computes 62.1 TFLOP/s a thread, more than any core does", 0),
            0U)
      << fast[0];
  EXPECT_EQ(DoubtsAbout(ProfileOf(1'800, 1), Base(), kShardWeights).size(), 1U);
  EXPECT_TRUE(DoubtsAbout(ProfileOf(1'800, 2), Base(), kShardWeights).empty()) << "by two threads";
}

TEST(ProfileDoubts, PassesOfSeveralInputsDoAsManyTimesAsMuch) {
  DeviceProfile profile = ProfileOf(30'000, 1);
  profile.batches = {{4, {{128, 12, 7'600}}, {}}};
  EXPECT_TRUE(DoubtsAbout(profile, Base(), kShardWeights).empty()) << "just below 1 TFLOP/s";
  profile.batches[0].compute[0].layer_us = 7'200;
  const auto fast = DoubtsAbout(profile, Base(), kShardWeights);
  ASSERT_EQ(fast.size(), 1U);
  EXPECT_EQ(fast[0].rfind("batches[0].compute[0] computes 1.0 TFLOP/s a thread", 0), 0U) << fast[0];
}

TEST(ProfileDoubts, SpeedsThatNoBoardHas) {
  EXPECT_TRUE(DoubtsAbout(ProfileOf(37'000'000, 1), Base(), kShardWeights).empty())
      << "just above 50 MFLOP/s";
  const auto slow = DoubtsAbout(ProfileOf(38'000'000, 1), Base(), kShardWeights);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].rfind("compute[0] computes 49.0 MFLOP/s a thread, less than the smallest", 0),
            0U)
      << slow[0];
  EXPECT_EQ(DoubtsAbout(ProfileOf(20'000'000, 2), Base(), kShardWeights).size(), 1U);
}

TEST(ProfileDoubts, TheFastestAndTheSlowestAreNamed) {
  DeviceProfile profile = ProfileOf(30'000, 1);
  profile.compute = {{128, 3, 8'000}, {128, 6, 16}, {128, 12, 17}, {256, 12, 1e9}};
  const auto doubts = DoubtsAbout(profile, Base(), kShardWeights);
  ASSERT_EQ(doubts.size(), 2U);
  EXPECT_EQ(doubts[0].rfind("compute[2]", 0), 0U) << doubts[0];
  EXPECT_EQ(doubts[1].rfind("compute[3]", 0), 0U) << doubts[1];
}

// Each number of the profile keeps its rules, but a plan file could not hold what they add up to.
TEST(ProfileDoubts, FiguresThatNoFileMayHoldAreTheProfilesFault) {
  test::World world(2, 2, {2, 6}, {4096, 8192});
  world.Compute(2, [](uint32_t) { return 1000; });
  world.Io({10, 20});
  PlanRequest request;
  request.submodel = Submodel{2, 2};
  request.length = 128;
  EXPECT_TRUE(Succeeded(MakePlan(world.input(), request)));
  world.profile.io_series = {{1e-6, 1e9}};
  world.profile.compute_series = {{1e-6, 1e9}};
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(FailedWith(plan, ErrorKind::kDamaged, "its times make a plan of which"));
  EXPECT_EQ(plan.error().source, Source::kProfile);
}

}  // namespace
}  // namespace sti
