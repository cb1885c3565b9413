#include "plan/search/value.h"

#include <gtest/gtest.h>

#include "world.h"

namespace sti {
namespace {

constexpr uint32_t kBits[] = {2, 3, 4, 5, 6, 32};

std::vector<ShardId> LayerOrder(uint32_t layers, uint32_t width) {
  std::vector<ShardId> order;
  for (uint32_t layer = 0; layer < layers; ++layer) {
    for (uint32_t slice = 0; slice < width; ++slice) order.push_back({layer, slice});
  }
  return order;
}

double UniformLoss(const ValueModel& value, uint32_t n, uint32_t m, size_t level) {
  return value.FullLoss(n, m) + value.Damage(n, m) * value.Lack(level);
}

// Without measurements: what measures better on CLINC150 6x12 (planner, "Joint choice when IO
// binds") has the lower loss. Levels 0, 1, 2 are 2, 3, 4 bits.
TEST(Value, StandInOrdersAsMeasured) {
  const ValueModel value(kBits, LayerOrder(6, 12), 6, 12, nullptr, {});
  EXPECT_FALSE(value.measured());
  EXPECT_LT(UniformLoss(value, 4, 3, 2), UniformLoss(value, 4, 6, 0));
  EXPECT_LT(UniformLoss(value, 6, 3, 2), UniformLoss(value, 6, 6, 0));
  EXPECT_LT(UniformLoss(value, 6, 6, 1), UniformLoss(value, 6, 9, 0));
  EXPECT_LT(UniformLoss(value, 6, 6, 2), UniformLoss(value, 6, 12, 0));
}

/// Returns the importance of a 2 x 1 model, with gains at 4 and 6 bits.
Importance Measured() {
  Importance importance;
  importance.layers = 2;
  importance.width = 1;
  importance.gain_bits = {4, 6};
  importance.gains = {0.1, 0.5, -0.2, -0.1};
  importance.submodels = {{1, 1, 2, 0.5, 2.0},
                          {1, 1, 4, 0.6, 1.5},
                          {1, 1, 6, 0.7, 1.25},
                          {2, 1, 2, 0.8, 1.0},
                          {2, 1, 6, 0.9, 0.5}};
  return importance;
}

// Gains of the most bits alone count, those below 0 as 0, and their mean, 0.2, on top.
TEST(Value, AShardWeighsItsGainAndTheMean) {
  const Importance importance = Measured();
  const ValueModel value(kBits, LayerOrder(2, 1), 2, 1, &importance, {});
  EXPECT_DOUBLE_EQ(value.Weight({0, 0}), 0.5 + 0.2);
  EXPECT_DOUBLE_EQ(value.Weight({1, 0}), 0 + 0.2);
}

TEST(Value, DamageIsTheLossThatTheFewestBitsAdd) {
  const Importance importance = Measured();
  const std::vector<Submodel> submodels = {{1, 1}, {2, 1}};
  const ValueModel value(kBits, LayerOrder(2, 1), 2, 1, &importance, submodels);
  ASSERT_TRUE(value.measured());
  EXPECT_DOUBLE_EQ(value.FullLoss(1, 1), 1.25);
  EXPECT_DOUBLE_EQ(value.Damage(1, 1), 2.0 - 1.25);
  EXPECT_DOUBLE_EQ(value.FullLoss(2, 1), 0.5);
  EXPECT_DOUBLE_EQ(value.Damage(2, 1), 1.0 - 0.5);
  EXPECT_DOUBLE_EQ(*value.Accuracy(1, 1, 2.0), 0.5);
  EXPECT_DOUBLE_EQ(*value.Accuracy(1, 1, 1.25), 0.7);
}

// Noise may make fewer bits look better: such a damage is 0 in the mean, of which it gets a share.
TEST(Value, ADamageIsNeverBelowAShareOfTheMean) {
  Importance importance = Measured();
  importance.layers = 3;
  importance.gain_bits.clear();
  importance.gains.clear();
  importance.submodels.push_back({3, 1, 2, 0.9, 0.3});
  importance.submodels.push_back({3, 1, 6, 0.9, 0.5});
  const std::vector<Submodel> submodels = {{1, 1}, {2, 1}, {3, 1}};
  const ValueModel value(kBits, LayerOrder(3, 1), 3, 1, &importance, submodels);
  EXPECT_DOUBLE_EQ(value.Damage(1, 1), 0.75);
  EXPECT_DOUBLE_EQ(value.Damage(3, 1), 0.05 * (0.75 + 0.5) / 3);
}

TEST(Value, TheMoreImportantTheHeavier) {
  Importance importance = Measured();
  importance.gain_bits.clear();
  importance.gains.clear();
  const std::vector<ShardId> order = {{2, 0}, {0, 0}, {1, 0}};
  const ValueModel value(kBits, order, 3, 1, &importance, {});
  EXPECT_DOUBLE_EQ(value.Weight({2, 0}), 3);
  EXPECT_DOUBLE_EQ(value.Weight({0, 0}), 2);
  EXPECT_DOUBLE_EQ(value.Weight({1, 0}), 1);
}

}  // namespace
}  // namespace sti
