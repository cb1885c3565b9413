#include "importance/measure.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "format/importance_file.h"
#include "importance/chunk_judge.h"
#include "importance/importance_world.h"
#include "kernels/backend.h"

namespace sti {
namespace {

class ImportanceTest : public ImportanceWorld {
 protected:
  struct Plain {
    Importance importance;
    std::vector<RunningMean> changes;  // of the metric, example by example
    RunningMean base;
  };

  // One evaluation of the whole model a shard and example, as the paper describes it.
  Plain Naive(Metric metric) {
    Plain plain;
    std::vector<double> base(examples_.size());
    for (uint32_t run = 0; run <= 6; ++run) {  // none is raised in the first
      PlainSum sum;
      RunningMean change;
      for (size_t e = 0; e < examples_.size(); ++e) {
        const auto logits = Logits(examples_[e], [&](uint32_t layer, uint32_t slice) {
          return layer * 2 + slice + 1 == run ? 32U : 2U;
        });
        const bool right = ArgMax(logits) == *examples_[e].label;
        const double loss = metric == Metric::kKl ? KlDivergence(FullLogits(examples_[e]), logits)
                                                  : CrossEntropy(logits, *examples_[e].label);
        sum.Add(right, loss);
        const double score = metric == Metric::kAccuracy ? (right ? 1.0 : 0.0) : -loss;
        if (run == 0) {
          base[e] = score;
          plain.base.Add(score);
        }
        change.Add(score - base[e]);
      }
      const double score = metric == Metric::kAccuracy ? sum.right() : 0.0 - sum.loss();
      if (run == 0) {
        plain.importance.baseline = score;
      } else {
        plain.importance.scores.push_back(score);
        plain.importance.losses.push_back(sum.loss());
        plain.changes.push_back(change);
      }
    }
    return plain;
  }

  void ExpectPlain(Metric metric, const Importance& measured) {
    const Plain plain = Naive(metric);
    EXPECT_EQ(measured.scores, plain.importance.scores) << NameOf(metric);
    EXPECT_EQ(measured.baseline, plain.importance.baseline);
    EXPECT_NEAR(measured.standard_error, plain.base.standard_error(), 1e-9);
    if (metric == Metric::kKl) {
      EXPECT_TRUE(measured.losses.empty());
    } else {
      EXPECT_EQ(measured.losses, plain.importance.losses);
    }
    ASSERT_EQ(measured.errors.size(), plain.changes.size());
    for (size_t i = 0; i < plain.changes.size(); ++i) {
      EXPECT_NEAR(measured.errors[i], plain.changes[i].standard_error(), 1e-9) << i;
    }
  }
};

TEST_F(ImportanceTest, EqualsOneEvaluationAShard) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kLoss, Metric::kKl}) {
    ImportanceOptions options;
    options.metric = metric;
    for (const uint32_t threads : {1U, 2U}) {
      options.threads = threads;
      const auto measured = Measure(options);
      ASSERT_TRUE(Succeeded(measured));
      ExpectPlain(metric, *measured);
    }
  }
}

TEST_F(ImportanceTest, RefusesMetricsOfModelsThatEmbed) {
  for (const Metric metric : {Metric::kCosine, Metric::kSpearman}) {
    ImportanceOptions options;
    options.metric = metric;
    EXPECT_TRUE(FailedWith(Measure(options), ErrorKind::kUsage,
                           "is not for models that label texts, as this one does"));
  }
}

// By kl there may be other labels, or none: numbers and the name of the data are the same.
TEST_F(ImportanceTest, LabelsAreNoneOfKls) {
  ImportanceOptions options;
  options.metric = Metric::kKl;
  const auto labelled = MeasurePart(options);
  for (size_t i = 0; i < examples_.size(); ++i) {
    examples_[i].label.reset();
    if (i % 2 == 0) examples_[i].label = 0;
  }
  const auto other = MeasurePart(options);
  ASSERT_TRUE(Succeeded(labelled));
  ASSERT_TRUE(Succeeded(other));
  EXPECT_EQ(labelled->job, other->job);
  EXPECT_EQ(labelled->tallies, other->tallies);
}

TEST_F(ImportanceTest, EqualsOneEvaluationAShardInAnyComputeType) {
  for (const ComputeType type : ComputeTypes()) {
    Compute(type);
    ImportanceOptions options;
    options.metric = Metric::kLoss;
    options.compute = type;
    const auto measured = Measure(options);
    ASSERT_TRUE(Succeeded(measured));
    EXPECT_EQ(measured->kernel, KernelFor({Backend::kNative, type}).name);
    ExpectPlain(Metric::kLoss, *measured);
  }
}

TEST_F(ImportanceTest, NeedsLittleMemory) {
  ImportanceOptions options;
  options.metric = Metric::kLoss;
  options.submodels = options.gains = true;
  ImportanceWork work;
  const auto ample = Measure(options, &work);
  ASSERT_TRUE(Succeeded(ample));
  EXPECT_GT(work.held_bytes, 8 * work.least_bytes);
  for (const uint64_t bound :
       {uint64_t{0}, work.least_bytes, 2 * work.least_bytes, work.held_bytes / 2}) {
    options.cache_bytes = bound;
    const auto frugal = Measure(options, &work);
    ASSERT_TRUE(Succeeded(frugal));
    EXPECT_LE(work.held_bytes, std::max(bound, work.least_bytes));
    EXPECT_EQ(EncodeImportance(*frugal), EncodeImportance(*ample)) << bound;
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
  EXPECT_EQ(measured->metric, Metric::kLoss);
  EXPECT_EQ(measured->examples, examples_.size());
  EXPECT_EQ(measured->layers, 3U);
  EXPECT_EQ(measured->width, 2U);
  EXPECT_EQ(measured->kernel.rfind("native-", 0), 0U) << measured->kernel;
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
  EXPECT_EQ(steps.back(), total);
  EXPECT_FALSE(measured->data.empty());
  EXPECT_TRUE(measured->estimate.empty());
  EXPECT_TRUE(measured->submodels.empty());
  EXPECT_TRUE(measured->gain_bits.empty());
  EXPECT_TRUE(measured->gains.empty());
}

TEST_F(ImportanceTest, DataIsNamedByTokensAndLabels) {
  ImportanceOptions options;
  options.metric = Metric::kLoss;
  const auto first = Measure(options);
  ASSERT_TRUE(Succeeded(first));
  options.metric = Metric::kAccuracy;
  EXPECT_EQ(Measure(options)->data, first->data);
  examples_[7].label = (*examples_[7].label + 1) % 3;
  const auto label = Measure(options);
  EXPECT_NE(label->data, first->data);
  examples_[7].text += " and";
  EXPECT_NE(Measure(options)->data, label->data);
}

TEST_F(ImportanceTest, MayBeCancelled) {
  ImportanceOptions options;
  int asked = 0;
  for (const int stop : {1, 3, 15}) {
    asked = 0;
    options.cancelled = [&] { return ++asked >= stop; };
    EXPECT_FALSE(Measure(options).ok());
    EXPECT_EQ(asked, stop);
  }
}

// Weights are finite, but products of large ones may not be.
TEST_F(ImportanceTest, ALossThatIsNoNumberIsRefused) {
  const auto chunks = BatchExamples(tokenizer_, examples_, Metric::kLoss, 32, 100);
  ChunkJudge judge(Metric::kLoss, model_->index().info, "a.sti");
  judge.Begin(chunks[0]);
  const std::vector<float> logits = {1, std::nanf(""), 0};
  EXPECT_TRUE(
      FailedWith(judge.Of(0, logits), ErrorKind::kDamaged, "a.sti: an example's loss is not"));
}

TEST_F(ImportanceTest, OneBitwidthCannotBeMeasured) {
  ShardOptions options;
  options.bits = {4};
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, {}, options)));
  EXPECT_TRUE(FailedWith(Measure({}), ErrorKind::kDamaged, "one bitwidth only"));
}

}  // namespace
}  // namespace sti
