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

}  // namespace
}  // namespace sti
