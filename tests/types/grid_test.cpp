#include "types/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sti {
namespace {

TEST(Grid, HoldsRowsOneBehindTheOther) {
  Grid<uint32_t> grid(2, 3, 7);
  grid.At(1, 2) = 9;
  grid.Row(0)[1] = 8;
  EXPECT_EQ(grid, (Grid<uint32_t>{{7, 8, 7}, {7, 7, 9}}));
  EXPECT_NE(grid, (Grid<uint32_t>{{7, 8}, {7, 7}, {7, 9}}));
  const std::vector<uint32_t> flat(grid.values().begin(), grid.values().end());
  EXPECT_EQ(flat, (std::vector<uint32_t>{7, 8, 7, 7, 7, 9}));
  EXPECT_EQ(Grid<uint32_t>().rows(), 0U);
}

TEST(Grid, IsMadeOfRowsOfOneLengthAlone) {
  using Rows = std::vector<std::vector<uint32_t>>;
  const auto grid = Grid<uint32_t>::FromRows(Rows{{1, 2}, {3, 4}, {5, 6}});
  ASSERT_TRUE(grid);
  EXPECT_EQ(*grid, (Grid<uint32_t>{{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(Grid<uint32_t>::FromRows(Rows{}), Grid<uint32_t>());
  EXPECT_FALSE(Grid<uint32_t>::FromRows(Rows{{1, 2}, {3}}));
  EXPECT_FALSE(Grid<uint32_t>::FromRows(Rows{{}, {3}}));
}

}  // namespace
}  // namespace sti
