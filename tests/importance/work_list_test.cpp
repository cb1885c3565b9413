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

class SubmodelSweeps : public ImportanceWorld {
 protected:
  struct Fared {
    double right;
    double loss;
  };

  Fared Naive(Metric metric, const std::vector<uint32_t>& layers, uint32_t width,
              const ShardBits& bits) {
    PlainSum sum;
    for (const Example& example : examples_) {
      const auto logits = Logits(example, layers, width, bits);
      const auto full = FullLogits(example);
      const bool kl = metric == Metric::kKl;
      sum.Add(ArgMax(logits) == (kl ? ArgMax(full) : *example.label),
              kl ? KlDivergence(full, logits) : CrossEntropy(logits, *example.label));
    }
    return {sum.right(), sum.loss()};
  }

  /// Every one of the file is what a plain evaluation says; returns how many there are.
  size_t ExpectPlain(Metric metric, const Importance& measured) {
    for (const SubmodelScore& score : measured.submodels) {
      const auto& layers = model_->index().info.depth_layers[score.depth - 1];
      const Fared fared =
          Naive(metric, layers, score.width, [&](uint32_t, uint32_t) { return score.bits; });
      EXPECT_EQ(score.accuracy, fared.right)
          << score.depth << "x" << score.width << " at " << score.bits;
      EXPECT_EQ(score.loss, fared.loss)
          << score.depth << "x" << score.width << " at " << score.bits;
    }
    return measured.submodels.size();
  }

  /// The file of a model has so many submodels, each what a plain evaluation says.
  void ExpectAllPlain(const TinyModelOptions& model, size_t submodels) {
    Use(model);
    const auto measured = Measure(Options(Metric::kLoss, true, false));
    ASSERT_TRUE(Succeeded(measured));
    EXPECT_EQ(ExpectPlain(Metric::kLoss, *measured), submodels);
  }

  static ImportanceOptions Options(Metric metric, bool submodels, bool gains) {
    ImportanceOptions options;
    options.metric = metric;
    options.submodels = submodels;
    options.gains = gains;
    return options;
  }
};

TEST_F(SubmodelSweeps, EqualOneEvaluationEach) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kKl}) {
    const auto measured = Measure(Options(metric, true, false));
    ASSERT_TRUE(Succeeded(measured));
    // 3 depths x 2 widths x 2 bitwidths, and four bitwidths more of 3x2.
    EXPECT_EQ(ExpectPlain(metric, *measured), 16U);
    EXPECT_TRUE(measured->gain_bits.empty());
  }
}

TEST_F(SubmodelSweeps, AreSortedAndMissNone) {
  const auto measured = Measure(Options(Metric::kLoss, true, false));
  ASSERT_TRUE(Succeeded(measured));
  std::vector<std::vector<uint32_t>> keys;
  for (const SubmodelScore& s : measured->submodels) keys.push_back({s.depth, s.width, s.bits});
  std::vector<std::vector<uint32_t>> expected;
  for (uint32_t depth = 1; depth <= 3; ++depth) {
    for (uint32_t width = 1; width <= 2; ++width) {
      for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U, 32U}) {
        if (bits == 2 || bits == 32 || (depth == 3 && width == 2))
          expected.push_back({depth, width, bits});
      }
    }
  }
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(measured->submodels[10].loss, -measured->baseline) << "3x2 at 2 bits is the baseline";
}

TEST_F(SubmodelSweeps, NarrowOnesThatWereNotTrainedAreLeftOut) {
  TinyModelOptions model;
  model.min_width = 2;
  ExpectAllPlain(model, 10);
}

TEST_F(SubmodelSweeps, ShallowOnesThatWereNotTrainedAreLeftOut) {
  TinyModelOptions model;
  model.min_depth = 3;
  ExpectAllPlain(model, 8);
}

TEST_F(SubmodelSweeps, OfAPlainModelAll) {
  TinyModelOptions model;
  model.elastic = false;
  ExpectAllPlain(model, 16);
}

TEST_F(SubmodelSweeps, GainsEqualOneEvaluationEach) {
  const std::vector<uint32_t> bits{3, 4, 5, 6, 32};
  for (const Metric metric : {Metric::kLoss, Metric::kKl}) {
    const auto measured = Measure(Options(metric, false, true));
    ASSERT_TRUE(Succeeded(measured));
    EXPECT_TRUE(measured->submodels.empty());
    ASSERT_EQ(measured->gain_bits, bits);
    ASSERT_EQ(measured->gains.size(), 30U);
    const double base = Naive(metric, {0, 1, 2}, 2, [](uint32_t, uint32_t) { return 2U; }).loss;
    for (uint32_t shard = 0; shard < 6; ++shard) {
      for (size_t b = 0; b < bits.size(); ++b) {
        const Fared raised = Naive(metric, {0, 1, 2}, 2, [&](uint32_t layer, uint32_t slice) {
          return layer * 2 + slice == shard ? bits[b] : 2U;
        });
        EXPECT_EQ(measured->gains[shard * bits.size() + b], base - raised.loss)
            << "shard " << shard << " at " << bits[b];
      }
    }
  }
}

TEST_F(SubmodelSweeps, ScoresStayAsTheyAreForAnyThreads) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kKl}) {
    const auto plain = Measure(Options(metric, false, false));
    ImportanceOptions options = Options(metric, true, true);
    const auto one = Measure(options);
    options.threads = 2;
    const auto two = Measure(options);
    ASSERT_TRUE(Succeeded(plain) && Succeeded(one) && Succeeded(two));
    EXPECT_EQ(one->scores, plain->scores);
    EXPECT_EQ(one->losses, plain->losses);
    EXPECT_EQ(one->baseline, plain->baseline);
    EXPECT_EQ(one->standard_error, plain->standard_error);
    EXPECT_EQ(two->scores, one->scores);
    EXPECT_EQ(two->submodels, one->submodels);
    EXPECT_EQ(two->gains, one->gains);
  }
}

// The depths of the tiny model are {2}, {0, 2} and {0, 1, 2}; those of a prefix map never part.
TEST_F(SubmodelSweeps, DepthsShareWhatTheyBeginWith) {
  const SubmodelPlan parting = PlanSubmodels(model_->index());
  EXPECT_EQ(parting.branches, 2U) << "before the first layer and after it";
  ContainerIndex index = model_->index();
  index.info.depth_layers = {{0}, {0, 1}, {0, 1, 2}};
  const SubmodelPlan prefixes = PlanSubmodels(index);
  EXPECT_EQ(prefixes.branches, 0U);
  const ModelShape& shape = index.info.shape;
  const BatchSize size{2, 10, 50};
  const uint64_t layer = LayerFlops(shape, size, 1, OutputRows::kAll);
  const uint64_t last = LayerFlops(shape, size, 1, OutputRows::kFirst);
  const uint64_t heads = 3 * HeadFlops(shape, 2);
  EXPECT_EQ(SweepFlops(shape, OutputRows::kFirst, size, prefixes.sweeps[0]),
            2 * layer + last + heads);
  EXPECT_EQ(SweepFlops(shape, OutputRows::kFirst, size, parting.sweeps[0]),
            2 * layer + 3 * last + heads);
  EXPECT_EQ(PlainSweepFlops(shape, OutputRows::kFirst, size, parting.sweeps[0]), 6 * layer + heads);
}

TEST_F(SubmodelSweeps, MayBeCancelled) {
  ImportanceOptions options = Options(Metric::kLoss, true, true);
  int asked = 0;
  options.cancelled = [&] { return ++asked >= 60; };
  EXPECT_FALSE(Measure(options).ok());
  EXPECT_EQ(asked, 60);
}

}  // namespace

}  // namespace sti
