#include <gtest/gtest.h>

#include "exact_solver.h"
#include "plan/search/joint.h"
#include "world.h"

namespace sti {
namespace {

/// The same instance for both solvers.
struct Instance {
  BitProblem problem;
  test::ExactProblem exact;
};

Instance RandomInstance(test::Random& random, uint32_t layers, uint32_t width) {
  Instance instance;
  const size_t levels = 1 + random.Below(4);
  instance.problem.width = instance.exact.width = width;
  instance.problem.levels = instance.exact.levels = levels;
  instance.exact.layers = layers;
  for (uint32_t shard = 0; shard < layers * width; ++shard) {
    double loss = 100 + random.Below(900);
    int64_t load_us = 1 + random.Below(9);
    int64_t bytes = 1 + random.Below(9);
    for (size_t level = 0; level < levels; ++level) {
      instance.exact.loss.push_back(loss);
      instance.exact.load_us.push_back(load_us);
      instance.exact.bytes.push_back(bytes);
      loss *= random.Below(90) / 100.0;
      load_us += random.Below(12);
      bytes += random.Below(12);
    }
    instance.problem.floor.push_back(0);
    instance.problem.ceiling.push_back(levels - 1);
  }
  int64_t capacity_us = random.Below(8 * width);
  for (uint32_t k = 0; k < layers; ++k) {
    instance.exact.capacity_us.push_back(capacity_us);
    capacity_us += random.Below(20 * width);
  }
  instance.exact.preload_bytes = random.Below(2) == 0 ? random.Below(120) : 0;
  instance.problem.loss = instance.exact.loss;
  instance.problem.load_us.assign(instance.exact.load_us.begin(), instance.exact.load_us.end());
  instance.problem.bytes.assign(instance.exact.bytes.begin(), instance.exact.bytes.end());
  instance.problem.capacity_us.assign(instance.exact.capacity_us.begin(),
                                      instance.exact.capacity_us.end());
  instance.problem.preload_bytes = static_cast<uint64_t>(instance.exact.preload_bytes);
  return instance;
}

/// Expects that a choice keeps within all limits and has the loss that it claims.
void ExpectKept(const Instance& instance, const BitChoice& choice) {
  int64_t bytes = 0;
  int64_t io_us = 0;
  double loss = 0;
  for (size_t shard = 0; shard < choice.levels.size(); ++shard) {
    const size_t at = instance.problem.At(shard, choice.levels[shard]);
    loss += instance.exact.loss[at];
    if (shard < choice.preloaded) {
      bytes += instance.exact.bytes[at];
    } else {
      io_us += instance.exact.load_us[at];
      ASSERT_LE(io_us, instance.exact.capacity_us[shard / instance.problem.width]);
    }
  }
  ASSERT_LE(bytes, instance.exact.preload_bytes);
  ASSERT_NEAR(loss, choice.loss, 1e-6);
}

TEST(BitChoice, ExactWhileNothingIsDropped) {
  test::Random random(51);
  int solved = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Instance instance = RandomInstance(random, 1 + random.Below(4), 1 + random.Below(4));
    const auto best = test::LeastLoss(instance.exact);
    const auto choice = ChooseBits(instance.problem, 100000);
    ASSERT_EQ(choice.has_value(), best.has_value()) << trial;
    if (!choice) continue;
    ++solved;
    ExpectKept(instance, *choice);
    ASSERT_NEAR(choice->loss, *best, 1e-6) << trial;
  }
  EXPECT_GT(solved, 1000);
}

TEST(BitChoice, FewStatesStayFeasibleAndNear) {
  test::Random random(52);
  double sum = 0;
  int solved = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Instance instance = RandomInstance(random, 8, 8);
    const auto best = test::LeastLoss(instance.exact);
    const auto choice = ChooseBits(instance.problem, 48);
    ASSERT_EQ(choice.has_value(), best.has_value()) << trial;
    if (!choice) continue;
    ++solved;
    ExpectKept(instance, *choice);
    ASSERT_GE(choice->loss, *best - 1e-6) << trial;
    sum += (choice->loss - *best) / *best;
  }
  EXPECT_GT(solved, 40);
  EXPECT_LT(sum / solved, 0.01);
}

TEST(BitChoice, FloorsAndCeilingsHold) {
  Instance instance;
  instance.problem = {
      1,      3,     {9, 4, 1, 9, 4, 1}, {1, 2, 3, 1, 2, 3}, {1, 2, 3, 1, 2, 3}, {10, 20}, 0,
      {1, 0}, {2, 1}};
  auto choice = ChooseBits(instance.problem, 100);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->levels, (std::vector<size_t>{2, 1}));
  instance.problem.capacity_us = {1, 20};  // not even the first shard's floor
  EXPECT_FALSE(ChooseBits(instance.problem, 100));
  instance.problem.capacity_us = {-1, 20};  // the embedding rows are late
  instance.problem.preload_bytes = 100;
  EXPECT_FALSE(ChooseBits(instance.problem, 100));
}

}  // namespace
}  // namespace sti
