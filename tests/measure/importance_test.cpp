#include "measure/importance.h"

#include <gtest/gtest.h>

#include <numeric>

#include "measure/importance_world.h"
#include "measure/score.h"

namespace sti {
namespace {

double ScoreOf(Metric metric, std::span<const float> logits, std::span<const float> full,
               uint32_t label) {
  if (metric == Metric::kKl) return -KlDivergence(full, logits);
  if (metric == Metric::kLoss) return -CrossEntropy(logits, label);
  return ArgMax(logits) == label ? 1.0 : 0.0;
}

class ImportanceTest : public ImportanceWorld {
 protected:
  // One evaluation of the whole model a shard and example, as the paper describes it.
  Importance Naive(Metric metric) {
    Importance importance;
    for (uint32_t shard = 0; shard <= 6; ++shard) {
      RunningMean score;
      RunningMean loss;
      for (const Example& example : examples_) {
        const auto logits = Logits(example, [&](uint32_t layer, uint32_t slice) {
          return layer * 2 + slice == shard ? 32U : 2U;
        });
        score.Add(ScoreOf(metric, logits, FullLogits(example), *example.label));
        loss.Add(CrossEntropy(logits, *example.label));
      }
      if (shard == 6) {  // none is raised
        importance.baseline = score.mean();
        importance.standard_error = score.standard_error();
      } else {
        importance.scores.push_back(score.mean());
        importance.losses.push_back(loss.mean());
      }
    }
    return importance;
  }
};

TEST_F(ImportanceTest, EqualsOneEvaluationAShard) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kLoss, Metric::kKl}) {
    const Importance expected = Naive(metric);
    ImportanceOptions options;
    options.metric = metric;
    for (const uint32_t threads : {1U, 2U}) {
      options.threads = threads;
      const auto measured = Measure(options);
      ASSERT_TRUE(Succeeded(measured));
      EXPECT_EQ(measured->scores, expected.scores) << MetricName(metric);
      EXPECT_EQ(measured->baseline, expected.baseline);
      EXPECT_EQ(measured->standard_error, expected.standard_error);
      if (metric == Metric::kKl) {
        EXPECT_TRUE(measured->losses.empty());
      } else {
        EXPECT_EQ(measured->losses, expected.losses);
      }
    }
  }
}

TEST_F(ImportanceTest, SaysWhatItMeasured) {
  ImportanceOptions options;
  options.metric = Metric::kLoss;
  std::vector<uint64_t> steps;
  uint64_t total = 0;
  options.progress = [&](uint64_t done, uint64_t all) {
    steps.push_back(done);
    total = all;
  };
  const auto measured = Measure(options);
  ASSERT_TRUE(Succeeded(measured));
  auto file = ContainerFile::Open(path_);
  EXPECT_EQ(measured->model, file->index().model);
  EXPECT_EQ(measured->metric, "loss");
  EXPECT_EQ(measured->examples, examples_.size());
  EXPECT_EQ(measured->layers, 3U);
  EXPECT_EQ(measured->width, 2U);
  EXPECT_EQ(measured->kernel.rfind("native-", 0), 0U) << measured->kernel;
  std::vector<uint64_t> expected(total);
  std::iota(expected.begin(), expected.end(), uint64_t{1});
  EXPECT_EQ(steps, expected);
  EXPECT_GE(total, 12U) << "two batches of six shards";
  EXPECT_EQ(total % 6, 0U);
  EXPECT_TRUE(measured->submodels.empty());
  EXPECT_TRUE(measured->gain_bits.empty());
  EXPECT_TRUE(measured->gains.empty());
}

TEST_F(ImportanceTest, MayBeCancelled) {
  ImportanceOptions options;
  int asked = 0;
  options.cancelled = [&] { return ++asked == 3; };
  EXPECT_FALSE(Measure(options).ok());
  EXPECT_EQ(asked, 3);
}

TEST_F(ImportanceTest, OneBitwidthCannotBeMeasured) {
  ShardOptions options;
  options.bits = {4};
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, {}, options)));
  EXPECT_TRUE(FailedWith(Measure({}), ErrorKind::kData, "one bitwidth only"));
}

}  // namespace
}  // namespace sti
