#include "shard/view.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/little_endian.h"
#include "shard/weight_order.h"

namespace sti {
namespace {

TEST(ForEachOutlierPosition, JoinsTheBlocksThatPositionsAreSplitInto) {
  const std::vector<uint64_t> positions = {0,      7,      65'535, 65'536,
                                           65'540, 65'541, 70'000, 3 * 65'536 + 1};
  const std::vector<uint32_t> starts = {0, 3, 7, 7, 8};  // the third block has none
  std::vector<uint8_t> start_bytes(4 * starts.size());
  for (size_t i = 0; i < starts.size(); ++i) StoreLittle<uint32_t>(&start_bytes[4 * i], starts[i]);
  std::vector<uint8_t> lows(2 * positions.size());
  for (size_t i = 0; i < positions.size(); ++i)
    StoreLittle<uint16_t>(&lows[2 * i], static_cast<uint16_t>(positions[i] % 65'536));
  OutlierView view;
  view.count = static_cast<uint32_t>(positions.size());
  view.blocks = 4;
  view.block_starts = start_bytes.data();
  view.lows = lows.data();
  std::vector<uint64_t> visited;
  ForEachOutlierPosition(view, [&](uint64_t position) { visited.push_back(position); });
  EXPECT_EQ(visited, positions);
  // Only as many blocks as it says are looked at.
  view.blocks = 1;
  visited.clear();
  ForEachOutlierPosition(view, [&](uint64_t position) { visited.push_back(position); });
  EXPECT_EQ(visited, std::vector<uint64_t>(positions.begin(), positions.begin() + 3));
}

TEST(PanelStretch, TheLastPanelIsAsWideAsOutputsAreLeft) {
  ShardMatrix matrix{};
  matrix.outs = 2 * kPanelWidth + 5;
  matrix.ins = 3;
  matrix.first = 1000;
  const PanelStretch whole{matrix, kPanelWidth, 0, 3};
  EXPECT_EQ(whole.width(), kPanelWidth);
  const PanelStretch last{matrix, 2 * kPanelWidth, 2, 1};
  EXPECT_EQ(last.width(), 5U);
  EXPECT_EQ(last.first(), 1000 + 2 * kPanelWidth * 3 + 2 * 5);
}

}  // namespace
}  // namespace sti
