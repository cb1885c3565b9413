#include "plan/timeline.h"

#include <gtest/gtest.h>

#include "world.h"

namespace sti {
namespace {

TEST(Timeline, LanesOverlap) {
  const ComputeLane lane{{5, 10, 7}, 2, 100};
  const std::vector<StreamedShard> shards = {{0, 1, 30}, {1, 1, 200}};
  // Rows at 10, layer 0 at 40 to 140, layer 1 waits until 240, ends at 340, head 7.
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt), 347);
  EXPECT_DOUBLE_EQ(SerialLatency(lane, shards), 10 + 230 + 5 + 200 + 7);
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, {}, std::nullopt), 10 + 5 + 200 + 7);
}

TEST(Timeline, StagingBoundDelaysReads) {
  const ComputeLane lane{{}, 3, 100};
  const std::vector<StreamedShard> shards = {{0, 10, 50}, {1, 10, 50}, {2, 10, 50}};
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt), 350);
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, 20), 350);
  // One layer at a time: each read waits for the layer before to end.
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, 10), 450);
  EXPECT_FALSE(PipelineLatency(lane, shards, 9));
}

TEST(Timeline, AgreesWithAnEventSimulator) {
  test::Random random(3);
  for (int trial = 0; trial < 5000; ++trial) {
    const uint32_t layers = 1 + random.Below(6);
    const int64_t layer_us = 1 + random.Below(20);
    const int64_t embed_io = random.Below(15);
    std::vector<std::vector<int64_t>> loads(layers);
    std::vector<StreamedShard> shards;
    for (uint32_t k = 0; k < layers; ++k) {
      for (uint32_t i = random.Below(4); i > 0; --i) {
        loads[k].push_back(1 + random.Below(15));
        shards.push_back({k, 1, static_cast<double>(loads[k].back())});
      }
    }
    int64_t stalls = 0;
    const int64_t end = test::SimulateEvents(loads, layer_us, embed_io, &stalls);
    const ComputeLane lane{
        {0, static_cast<double>(embed_io), 0}, layers, static_cast<double>(layer_us)};
    ASSERT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt), static_cast<double>(end));
  }
}

}  // namespace
}  // namespace sti
