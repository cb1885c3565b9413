#include "network/traits.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

TEST(Traits, ThoseOfEarlierModelsAreNotSaid) {
  ModelInfo info;
  EXPECT_TRUE(TraitsOf(info).empty());
  info.pooler = PoolerActivation::kRelu;
  info.position_offset = 2;
  EXPECT_TRUE(TraitsOf(info).empty());
  info.pooler = PoolerActivation::kGelu;
  EXPECT_EQ(TraitsOf(info), (std::vector<std::string_view>{"pooler gelu"}));
  info.shape.embedding = 8;
  EXPECT_EQ(TraitsOf(info), (std::vector<std::string_view>{"embedding projection", "pooler gelu"}));
  for (const std::string_view name : TraitsOf(info)) EXPECT_TRUE(IsKnownTrait(name));
  EXPECT_FALSE(IsKnownTrait("rotary positions"));
}

}  // namespace
}  // namespace sti
