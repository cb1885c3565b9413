#include "importance/quick_importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "importance/gradient.h"
#include "importance/importance_world.h"
#include "importance/loss_gradient.h"
#include "types/score.h"

namespace sti {
namespace {

ImportanceOptions Options(Metric metric, bool gains = false, uint32_t threads = 1) {
  ImportanceOptions options;
  options.metric = metric;
  options.gains = gains;
  options.threads = threads;
  return options;
}

class QuickImportanceTest : public ImportanceWorld {
 protected:
  /// The same model, whose inputs have any number of labels.
  void MakeMultiLabel() {
    const std::string config_path = path_ + ".model/config.json";
    std::ifstream in(config_path);
    std::string config{std::istreambuf_iterator<char>(in), {}};
    in.close();
    config.insert(config.find('{') + 1, "\"problem_type\": \"multi_label_classification\",");
    std::ofstream(config_path) << config;
    Shard(path_ + ".model", ShardOptions().bits);
    for (Example& example : examples_) {
      example.labels.emplace();
      for (uint32_t label = 0; label < 3; ++label) {
        if ((*example.label + label) % 2 == 0) example.labels->push_back(label);
      }
      example.label.reset();
    }
  }

  DenseLayer Dense(uint32_t layer, uint32_t bits) {
    std::vector<ShardView> views;
    views.reserve(2);
    for (const uint32_t slice : {0U, 1U}) views.push_back(model_->View(layer, slice, bits));
    DenseLayer dense;
    DecodeLayer(model_->index().info.shape, views, pool_, &dense);
    return dense;
  }

  /// Slopes of one example's loss, alone in its batch: [layers, width].
  std::vector<double> Slopes(const Example& example, Metric metric, uint32_t bits, double* loss) {
    const ModelInfo& info = model_->index().info;
    const Encoding e = tokenizer_.Encode(example.text, example.pair, info.shape.max_positions);
    const uint32_t offsets[] = {0, static_cast<uint32_t>(e.ids.size())};
    std::vector<float> hidden(e.ids.size() * info.shape.hidden);
    EXPECT_TRUE(Succeeded(model_->Embed(*transformer_, {offsets}, e.ids, e.types, hidden.data())));
    GradientRun pass(info, pool_);
    pass.Begin({offsets});
    for (uint32_t layer = 0; layer < 3; ++layer) {
      pass.Forward(layer, Dense(layer, 2), model_->resident().layers[layer], hidden.data());
    }
    std::vector<float> logits(3);
    std::vector<float> gradient(3);
    pass.Head(model_->resident().head, hidden.data(), logits.data());
    if (metric == Metric::kKl) {
      const std::vector<float> full = FullLogits(example);
      *loss = Divergence(info.problem, full, logits);
      DivergenceGradient(info.problem, full, logits, gradient.data());
    } else {
      *loss = Judge(info.problem, logits, *example.Truth()).loss;
      LossGradient(info.problem, logits, *example.Truth(), gradient.data());
    }
    pass.BeginBackward(model_->resident().head, gradient);
    std::vector<double> slopes(6);
    for (uint32_t layer = 3; layer-- > 0;) {
      const DenseLayer low = Dense(layer, 2);
      pass.Backward(layer, low, model_->resident().layers[layer]);
      DenseLayer change = Dense(layer, bits);
      Subtract(low, &change);
      pass.Derivatives(change, &slopes[layer * 2]);
    }
    return slopes;
  }

  /// Expects that the estimate is what it is defined as, an example at a time.
  void ExpectEqualsOneExampleAtATime(Metric metric, double curvature) {
    const auto estimate = Estimate(Options(metric, true, 2));
    ASSERT_TRUE(Succeeded(estimate));
    EXPECT_EQ(estimate->gain_bits, (std::vector<uint32_t>{3, 4, 5, 6, 32}));
    for (size_t b = 0; b < 5; ++b) {
      RunningMean baseline;
      std::vector<RunningMean> gains(6);
      for (const Example& example : examples_) {
        double loss = 0;
        const auto slopes = Slopes(example, metric, estimate->gain_bits[b], &loss);
        baseline.Add(loss);
        for (size_t i = 0; i < 6; ++i) {
          gains[i].Add(-slopes[i] - curvature / 2 * slopes[i] * slopes[i]);
        }
      }
      EXPECT_NEAR(estimate->baseline, 0.0 - baseline.mean(), 1e-9);
      EXPECT_NEAR(estimate->standard_error, baseline.standard_error(), 1e-9);
      for (size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(estimate->gains[i * 5 + b], gains[i].mean(), 1e-9);
        if (b < 4) continue;
        EXPECT_NEAR(estimate->scores[i], gains[i].mean() - baseline.mean(), 1e-9);
        EXPECT_NEAR(estimate->errors[i], gains[i].standard_error(), 1e-9);
      }
    }
  }
};

TEST_F(QuickImportanceTest, IsWhatTheSlopesOfEachExampleSay) {
  ExpectEqualsOneExampleAtATime(Metric::kLoss, 1);
  ExpectEqualsOneExampleAtATime(Metric::kKl, 1);
}

TEST_F(QuickImportanceTest, LossOfSeveralLabelsIsAMeanOverThem) {
  MakeMultiLabel();
  ExpectEqualsOneExampleAtATime(Metric::kLoss, 3);
  ExpectEqualsOneExampleAtATime(Metric::kKl, 1);
}

// From 6 bits on, weights change so little that slopes are all there is to it.
TEST_F(QuickImportanceTest, IsNearTheMeasuredLossesWhereChangesAreSmall) {
  for (const bool several : {false, true}) {
    if (several) MakeMultiLabel();
    Shard(path_ + ".model", {6, 32});
    const auto estimate = Estimate(Options(Metric::kLoss));
    const auto measured = Measure(Options(Metric::kLoss));
    ASSERT_TRUE(Succeeded(estimate));
    ASSERT_TRUE(Succeeded(measured));
    EXPECT_EQ(estimate->baseline, measured->baseline);
    double largest = 0;
    for (const double score : measured->scores) {
      largest = std::max(largest, std::abs(score - measured->baseline));
    }
    ASSERT_GT(largest, 1e-5);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(estimate->scores[i], measured->scores[i], largest / 20) << i;
      EXPECT_EQ(estimate->losses[i], 0.0 - estimate->scores[i]);
    }
  }
}

TEST_F(QuickImportanceTest, IsTheSameForAnyThreadsAndWithoutGains) {
  const auto one = Estimate(Options(Metric::kLoss, true));
  const auto three = Estimate(Options(Metric::kLoss, true, 3));
  const auto alone = Estimate(Options(Metric::kLoss));
  ASSERT_TRUE(Succeeded(one));
  ASSERT_TRUE(Succeeded(three));
  ASSERT_TRUE(Succeeded(alone));
  EXPECT_EQ(three->scores, one->scores);
  EXPECT_EQ(three->gains, one->gains);
  EXPECT_EQ(three->errors, one->errors);
  EXPECT_EQ(alone->scores, one->scores);
  EXPECT_TRUE(alone->gains.empty());
}

TEST_F(QuickImportanceTest, SaysWhatItIs) {
  ImportanceOptions options = Options(Metric::kKl);
  std::vector<uint64_t> steps;
  uint64_t total = 0;
  options.progress = [&](uint64_t done, uint64_t all) {
    steps.push_back(done);
    total = all;
  };
  for (Example& example : examples_) example.label.reset();
  const auto estimate = Estimate(options);
  ASSERT_TRUE(Succeeded(estimate));
  EXPECT_EQ(estimate->model, model_->index().model);
  EXPECT_EQ(estimate->metric, Metric::kKl);
  EXPECT_EQ(estimate->estimate, "empirical Fisher");
  EXPECT_EQ(estimate->examples, examples_.size());
  EXPECT_EQ(estimate->layers, 3U);
  EXPECT_EQ(estimate->width, 2U);
  EXPECT_EQ(estimate->kernel, transformer_->kernel().name);
  EXPECT_FALSE(estimate->data.empty());
  EXPECT_TRUE(estimate->losses.empty());
  std::vector<uint64_t> expected(total);
  std::iota(expected.begin(), expected.end(), uint64_t{1});
  EXPECT_EQ(steps, expected);
  EXPECT_GE(total, 6U) << "three layers, there and back";
}

TEST_F(QuickImportanceTest, RefusesWhatGradientsCannotTell) {
  const std::string words = "take the metric loss or kl";
  EXPECT_TRUE(FailedWith(Estimate(Options(Metric::kAccuracy)), ErrorKind::kUsage, words));
  ImportanceOptions submodels = Options(Metric::kLoss);
  submodels.submodels = true;
  EXPECT_TRUE(FailedWith(Estimate(submodels), ErrorKind::kUsage, words));
  examples_[5].label.reset();
  EXPECT_TRUE(FailedWith(Estimate(Options(Metric::kLoss)), ErrorKind::kDamaged, "no label"));
  examples_.clear();
  EXPECT_TRUE(FailedWith(Estimate(Options(Metric::kKl)), ErrorKind::kDamaged, "no examples"));
}

TEST_F(QuickImportanceTest, MayBeCancelled) {
  ImportanceOptions options = Options(Metric::kLoss);
  int asked = 0;
  options.cancelled = [&] { return ++asked == 5; };
  EXPECT_FALSE(Estimate(options).ok());
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace sti
