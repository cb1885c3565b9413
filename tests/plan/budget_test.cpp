#include "plan/budget.h"

#include <gtest/gtest.h>

#include <array>

#include "world.h"

namespace sti {
namespace {

constexpr double kSecond = 1e6;

/// A lane whose layers take `layer_us`, behind embedding rows of `embed_io_us`.
ComputeLane Layers(size_t layers, double layer_us, double embed_io_us = 0) {
  return {{0, embed_io_us, 0}, static_cast<uint32_t>(layers), layer_us};
}

// STI Figure 6: 2x3 submodel, T = 2 s, T_comp = 1 s, T_io(2) = 0.2 s; S holds layer 0.
TEST(Budget, Figure6) {
  const double bonus = 3 * 0.2 * kSecond;
  const auto start = ComputeAibs(bonus, 0, Layers(2, kSecond), std::array{0.0, 0.0});
  EXPECT_DOUBLE_EQ(start[0], 0.6 * kSecond);
  EXPECT_DOUBLE_EQ(start[1], 1.6 * kSecond);
  const auto filled = ComputeAibs(bonus, 0, Layers(2, kSecond), std::array{0.6 * kSecond, 0.0});
  EXPECT_EQ(filled[0], 0);
  EXPECT_DOUBLE_EQ(filled[1], 1.0 * kSecond);
  // A and B: at most 1.0 s in layer 1.
  const auto a =
      ComputeAibs(bonus, 0, Layers(2, kSecond), std::array{0.6 * kSecond, 1.0 * kSecond});
  EXPECT_EQ(a[1], 0);
  EXPECT_TRUE(AibsValid(a));
  EXPECT_TRUE(AibsValid(
      ComputeAibs(bonus, 0, Layers(2, kSecond), std::array{0.6 * kSecond, 0.9 * kSecond})));
  // C: 1.1 s.
  const auto c =
      ComputeAibs(bonus, 0, Layers(2, kSecond), std::array{0.6 * kSecond, 1.1 * kSecond});
  EXPECT_NEAR(c[1], -0.1 * kSecond, 1e-6);
  EXPECT_FALSE(AibsValid(c));
}

TEST(Budget, SlackAndEmbeddingRowsCount) {
  const auto aibs = ComputeAibs(10, 7, Layers(2, 100, 4), std::array{3.0, 20.0});
  EXPECT_DOUBLE_EQ(aibs[0], 10);
  EXPECT_DOUBLE_EQ(aibs[1], 90);
}

TEST(Budget, BitsThatTakeTimeCountFromTheirLayerOn) {
  ComputeLane lane = Layers(3, 100);
  lane.decode_us = {10, -20, 5};
  EXPECT_EQ(lane.LayerUs(0), 110);
  EXPECT_EQ(lane.LayerUs(1), 80);
  EXPECT_EQ(lane.LayerUs(2), 105);
  EXPECT_EQ(lane.compute_us(), 295);
  Budget budget;
  budget.lane = lane;
  budget.target_us = 300;
  // Each layer's shards have until it must begin: T less what it and all behind it take.
  EXPECT_EQ(budget.Capacities(), (std::vector<double>{5, 115, 195}));
  EXPECT_EQ(ComputeAibs(0, budget.slack_us(), lane, std::array{5.0, 20.0, 100.0}),
            (std::vector<double>{0, 90, 70}));
  EXPECT_EQ(LeastTarget(budget, std::array{5.0, 20.0, 200.0}), 330);
}

// The paper's claim: valid with slack 0 iff nothing stalls. The simulator is independent.
TEST(Budget, ValidIffNoStalls) {
  test::Random random(1);
  int valid_cases = 0;
  for (int trial = 0; trial < 30000; ++trial) {
    const size_t layers = 1 + random.Below(6);
    const size_t width = 1 + random.Below(4);
    const int64_t layer_us = 1 + random.Below(30);
    const size_t preloaded = random.Below(static_cast<uint32_t>(layers * width + 1));
    std::vector<std::vector<int64_t>> loads(layers, std::vector<int64_t>(width));
    std::vector<double> streamed_us(layers);
    for (size_t shard = preloaded; shard < layers * width; ++shard) {
      loads[shard / width][shard % width] = 1 + random.Below(20);
      streamed_us[shard / width] += static_cast<double>(loads[shard / width][shard % width]);
    }
    int64_t stalls = 0;
    const int64_t end = test::SimulateEvents(loads, layer_us, layer_us, 0, &stalls);
    const bool valid =
        AibsValid(ComputeAibs(0, 0, Layers(layers, static_cast<double>(layer_us)), streamed_us));
    ASSERT_EQ(valid, stalls == 0) << "trial " << trial;
    ASSERT_EQ(end, static_cast<int64_t>(layers) * layer_us + stalls);
    valid_cases += valid ? 1 : 0;
  }
  EXPECT_GT(valid_cases, 3000);
  EXPECT_LT(valid_cases, 27000);
}

// With slack: valid iff the label is there by T.
TEST(Budget, ValidIffInTime) {
  test::Random random(2);
  for (int trial = 0; trial < 20000; ++trial) {
    const size_t layers = 1 + random.Below(5);
    const int64_t layer_us = 1 + random.Below(20);
    const int64_t slack = random.Below(40);
    const int64_t embed_io = random.Below(10);
    std::vector<std::vector<int64_t>> loads(layers);
    std::vector<double> layer_io_us;
    for (auto& row : loads) {
      row = {random.Below(30)};
      layer_io_us.push_back(static_cast<double>(row[0]));
    }
    int64_t stalls = 0;
    const int64_t end = test::SimulateEvents(loads, layer_us, layer_us, embed_io, &stalls);
    const auto aibs = ComputeAibs(
        0, static_cast<double>(slack),
        Layers(layers, static_cast<double>(layer_us), static_cast<double>(embed_io)), layer_io_us);
    ASSERT_EQ(AibsValid(aibs), end <= static_cast<int64_t>(layers) * layer_us + slack) << trial;
  }
}

// With a fallback each layer's shards must have come while it can still answer in time.
TEST(Budget, TheLeastTargetIsTheLeastThatIsKept) {
  test::Random random(41);
  for (int trial = 0; trial < 2000; ++trial) {
    Budget budget;
    const size_t layers = 1 + random.Below(5);
    budget.lane = Layers(layers, 1 + random.Below(30), random.Below(20));
    budget.wake_us = random.Below(3) * 20;
    std::vector<double> io_us(layers);
    for (double& us : io_us) us = random.Below(60);
    if (random.Below(2) == 0) {
      for (size_t k = 0; k < layers; ++k) budget.give_up_us.push_back(random.Below(200));
    }
    const double least_us = LeastTarget(budget, io_us);
    const auto keeps = [&](double target_us) {
      budget.target_us = target_us;
      return KeepsWithin(budget.Capacities(), budget.wake_us, io_us);
    };
    ASSERT_TRUE(keeps(least_us)) << trial;
    ASSERT_FALSE(keeps(least_us - 1)) << trial;
  }
}

}  // namespace
}  // namespace sti
