#include "types/model_order.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

using Row = std::vector<uint32_t>;

TEST(DepthMapTest, ARowNamesSoManyLayersAscending) {
  EXPECT_TRUE(IsDepthRow(Row{0, 2, 5}, 3, 6));
  EXPECT_TRUE(IsDepthRow(Row{5}, 1, 6));
  EXPECT_FALSE(IsDepthRow(Row{0, 2}, 3, 6)) << "too few";
  EXPECT_FALSE(IsDepthRow(Row{0, 2, 5}, 2, 6)) << "too many";
  EXPECT_FALSE(IsDepthRow(Row{2, 0, 5}, 3, 6)) << "not ascending";
  EXPECT_FALSE(IsDepthRow(Row{0, 2, 2}, 3, 6)) << "twice";
  EXPECT_FALSE(IsDepthRow(Row{0, 2, 6}, 3, 6)) << "no such layer";
  EXPECT_FALSE(IsDepthRow(Row{UINT32_MAX}, 1, 6));
}

TEST(DepthMapTest, AMapHasARowForEachDepth) {
  EXPECT_TRUE(IsDepthMap({{1}, {0, 1}}, 2));
  EXPECT_FALSE(IsDepthMap({{1}}, 2));
  EXPECT_FALSE(IsDepthMap({{1}, {0, 1}, {0, 1, 2}}, 2));
  EXPECT_FALSE(IsDepthMap({{0, 1}, {0, 1}}, 2));
  EXPECT_FALSE(IsDepthMap({{}, {0, 1}}, 2));
}

TEST(DepthMapTest, FirstLayersAreARow) {
  EXPECT_EQ(FirstLayers(0), Row());
  EXPECT_EQ(FirstLayers(3), (Row{0, 1, 2}));
}

}  // namespace

}  // namespace sti
