// Submodels and gains, which share most of their computation, against one evaluation each.
#include "importance/submodel_sweeps.h"

#include "importance/importance_world.h"

namespace sti {
namespace {

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
