#include <gtest/gtest.h>

#include "types/model_info.h"

namespace sti {
namespace {

std::vector<uint32_t> RowsOf(uint32_t offset, const std::vector<uint32_t>& ids) {
  ModelInfo info;
  info.position_offset = offset;
  PositionRows rows(info);
  std::vector<uint32_t> found;
  for (const uint32_t id : ids) found.push_back(rows.Next(id));
  return found;
}

// The rows are those of transformers' create_position_ids_from_input_ids, with padding_idx =
// offset - 1.
TEST(PositionRows, TokensOfThePaddingTokensIdDoNotCount) {
  using Rows = std::vector<uint32_t>;
  EXPECT_EQ(RowsOf(2, {0, 5, 6, 2}), (Rows{2, 3, 4, 5}));
  EXPECT_EQ(RowsOf(2, {1, 349, 348, 1, 331, 343, 2}), (Rows{1, 2, 3, 1, 4, 5, 6}));
  EXPECT_EQ(RowsOf(3, {0, 349, 348, 328, 331, 343, 2}), (Rows{3, 4, 5, 6, 7, 8, 2}));
  EXPECT_EQ(RowsOf(0, {0, 0xFFFFFFFE, 0, 3}), (Rows{0, 1, 2, 3}));
}

TEST(PositionRows, ARowBeforeTheFirstIsCountedWhereThereIsOne) {
  ModelInfo info;
  EXPECT_EQ(info.first_position_row(), 0U);
  EXPECT_EQ(info.position_rows(7), 7U);
  info.position_offset = 2;
  EXPECT_EQ(info.first_position_row(), 1U);
  EXPECT_EQ(info.position_rows(7), 8U);
  EXPECT_EQ(info.position_rows(0), 0U);
}

}  // namespace
}  // namespace sti
