// Tests of what work costs, and of how it is cut.
#include "importance/work_list.h"

#include <gtest/gtest.h>

#include <cmath>

#include "importance/importance_world.h"
#include "support/random.h"

namespace sti {
namespace {

// Lengths as SST-2's dev set has them: 872 sentences of 25 tokens on average, 3 to 66.
std::vector<BatchSize> Sst2Chunks() {
  TestRandom random(7);
  std::vector<BatchSize> chunks(1);
  for (int i = 0; i < 872; ++i) {
    const uint64_t length = 3 + random.Below(25) + random.Below(21);
    if (chunks.back().tokens + length > 1024) chunks.emplace_back();
    chunks.back() += {1, length, length * length};
  }
  return chunks;
}

std::vector<BatchSize> Padded(const std::vector<BatchSize>& chunks, uint64_t length) {
  std::vector<BatchSize> padded;
  padded.reserve(chunks.size());
  for (const BatchSize& chunk : chunks) {
    padded.push_back(
        {chunk.sequences, chunk.sequences * length, chunk.sequences * length * length});
  }
  return padded;
}

WorkShape MiniLm() {
  WorkShape shape;
  shape.model = {.layers = 12,
                 .width = 12,
                 .hidden = 384,
                 .ffn = 1536,
                 .vocabulary = 30522,
                 .max_positions = 512,
                 .token_types = 2,
                 .labels = 2};
  shape.raised_bits = {32};
  return shape;
}

TEST(Flops, OfALayerCountEveryMultiplyAdd) {
  const ModelShape shape = MiniLm().model;
  const uint64_t d = shape.hidden;
  const uint64_t f = shape.ffn;
  // One sequence of 10 tokens.
  const BatchSize size{1, 10, 100};
  const uint64_t products = 2 * 10 * (4 * d * d + 2 * d * f);
  EXPECT_EQ(LayerFlops(shape, size, 12, OutputRows::kAll), products + 2 * 2 * 100 * d);
  const uint64_t first = 2 * (10 * 2 * d * d + 2 * d * d + 2 * d * f);
  EXPECT_EQ(LayerFlops(shape, size, 12, OutputRows::kFirst), first + 2 * 2 * 10 * d);
  EXPECT_EQ(HeadFlops(shape, 3), 3 * 2 * (d * d + 2 * d));
  const std::vector<uint32_t> offsets = {0, 3, 10};
  EXPECT_EQ(SizeOf({offsets}).squares, 9U + 49U);
  EXPECT_EQ(PaddedSize({offsets}, 5).tokens, 5U + 7U);
}

TEST(WorkList, TakesFarFewerFlopsThanPlainEvaluations) {
  const auto chunks = Sst2Chunks();
  const WorkList list(MiniLm(), chunks);
  const UnitRange all{0, list.units()};
  const auto flops = static_cast<double>(list.Flops(all));
  EXPECT_GT(static_cast<double>(list.PlainFlops(all, chunks)) / flops, 2.1);
  EXPECT_GT(static_cast<double>(list.PlainFlops(all, Padded(chunks, 128))) / flops, 10.0);
}

TEST(WorkList, PartsAreTheWholeCutAtEqualCost) {
  const WorkList list(MiniLm(), Sst2Chunks());
  const double total = static_cast<double>(list.Flops({0, list.units()}));
  for (const uint64_t parts : {1U, 2U, 7U, 100U, 1000U}) {
    uint64_t end = 0;
    for (uint64_t part = 1; part <= parts; ++part) {
      const UnitRange range = list.Part(part, parts);
      ASSERT_EQ(range.begin, end);
      ASSERT_GT(range.end, range.begin);
      end = range.end;
      // A unit of the lowest layer is the largest: 144 of about 75 layers each.
      const auto count = static_cast<double>(parts);
      const double share = static_cast<double>(list.Flops(range)) / total * count;
      EXPECT_LT(std::abs(share - 1), 0.01 + 0.0008 * count) << part << "/" << parts;
    }
    EXPECT_EQ(end, list.units());
  }
}

TEST(WorkList, MorePartsThanUnitsLeaveSomeEmpty) {
  const WorkList list(MiniLm(), {{1, 5, 25}});
  ASSERT_EQ(list.units(), 145U);
  for (const uint64_t parts : {145U, 146U, 1000U}) {
    uint64_t end = 0;
    for (uint64_t part = 1; part <= parts; ++part) {
      const UnitRange range = list.Part(part, parts);
      ASSERT_EQ(range.begin, end);
      EXPECT_LE(range.end - range.begin, 1U);
      end = range.end;
    }
    EXPECT_EQ(end, 145U);
  }
}

// The parts to come keep a unit each, though those before would want it to be of equal cost.
TEST(WorkList, WhereTheLastUnitsCostMostPartsAreContiguousToo) {
  const WorkList list(MiniLm(), {{1, 2, 4}, {1, 60, 3600}});
  ASSERT_EQ(list.units(), 290U);
  for (uint64_t parts = 250; parts < 290; ++parts) {
    uint64_t end = 0;
    for (uint64_t part = 1; part <= parts; ++part) {
      const UnitRange range = list.Part(part, parts);
      ASSERT_EQ(range.begin, end) << part << "/" << parts;
      ASSERT_GT(range.end, range.begin) << part << "/" << parts;
      end = range.end;
    }
    ASSERT_EQ(end, list.units()) << parts;
  }
}

using WorkListOfAModel = ImportanceWorld;

// The work that is announced is the work that is done, as long as there is memory.
TEST_F(WorkListOfAModel, CostsAreWhatTheRunnerCounts) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kKl}) {
    for (const bool more : {false, true}) {
      ImportanceOptions options;
      options.metric = metric;
      options.submodels = options.gains = more;
      uint64_t announced = 0;
      options.progress = [&](uint64_t, uint64_t total) { announced = total; };
      ImportanceWork work;
      ASSERT_TRUE(Succeeded(Measure(options, &work)));
      EXPECT_EQ(work.flops / kProgressFlops, announced);
      EXPECT_GT(work.plain_flops, work.flops);
      EXPECT_GT(work.padded_flops, 4 * work.plain_flops);
    }
  }
}

}  // namespace
}  // namespace sti
