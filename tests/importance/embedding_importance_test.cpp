// Importance of models that embed: by the cosine with the full model's embeddings, and by how pairs
// are ranked. All is held against plain evaluations, an example at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "importance/importance_world.h"
#include "importance/loss_gradient.h"
#include "types/rank_correlation.h"

namespace sti {
namespace {

constexpr Metric kBoth[] = {Metric::kCosine, Metric::kSpearman};

class EmbeddingImportance : public ImportanceWorld,
                            public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    ImportanceWorld::SetUp();
    all_ = examples_;
    ASSERT_TRUE(
        Succeeded(AddSentenceModules(path_ + ".model", {GetParam(), GetParam() != "max", 12})));
    Shard(path_ + ".model", {2, 3, 4, 5, 6, 32});
    MakePairs(20);
  }

  void MakePairs(size_t count) {
    examples_ = all_;
    examples_.resize(count);
    TestRandom random(9);
    for (size_t i = 0; i < examples_.size(); ++i) {
      examples_[i].label.reset();
      examples_[i].pair = examples_[(i * 7 + 3) % examples_.size()].text + " film";
      examples_[i].score = static_cast<double>(random.Below(6)) / 2;  // with ties
    }
  }

  const ModelInfo& info() { return model_->index().info; }

  // The embedding of a text, alone, from the first `width` slices of these layers.
  std::vector<float> Vector(const std::string& text, const std::vector<uint32_t>& layers,
                            uint32_t width, const ShardBits& bits) {
    return ValuesOf(tokenizer_.Encode(text, std::nullopt, info().max_length()), layers, width,
                    bits);
  }

  // The texts that kCosine counts, or the first texts of pairs.
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const Example& example : examples_) {
      texts.push_back(example.text);
      if (example.pair) texts.push_back(*example.pair);
    }
    return texts;
  }

  // The result of a plain evaluation of a submodel: losses of kCosine, or cosines of kSpearman.
  std::vector<double> Plain(Metric metric, const std::vector<uint32_t>& layers, uint32_t width,
                            const ShardBits& bits) {
    std::vector<double> all;
    if (metric == Metric::kCosine) {
      for (const std::string& text : Texts()) {
        const auto full = Vector(text, {0, 1, 2}, 2, AllAt(model_->index().bits.back()));
        all.push_back(1 - Cosine(full, Vector(text, layers, width, bits)));
      }
    } else {
      for (const Example& example : examples_) {
        // As parts keep them: pairs of the same two texts are equal.
        const double cosine = Cosine(Vector(example.text, layers, width, bits),
                                     Vector(*example.pair, layers, width, bits));
        all.push_back(static_cast<double>(*CosineUnits(cosine)) / kCosineUnits);
      }
    }
    return all;
  }

  std::vector<double> Scores() {
    std::vector<double> scores;
    for (const Example& example : examples_) scores.push_back(*example.score);
    return scores;
  }

  // The metric, of what Plain gives.
  double Quality(Metric metric, const std::vector<double>& plain) {
    if (metric == Metric::kSpearman) return *Spearman(plain, Scores());
    PlainSum sum;
    for (const double loss : plain) sum.Add(false, loss);
    return 1 - sum.loss();
  }

  // The value of each example that the metric's error is of.
  std::vector<double> Influence(Metric metric, const std::vector<double>& plain) {
    return metric == Metric::kSpearman ? SpearmanInfluence(plain, Scores()) : plain;
  }

  std::vector<Example> all_;
};

TEST_P(EmbeddingImportance, EqualsOneEvaluationAShard) {
  for (const Metric metric : kBoth) {
    const auto measured = Measure(By(metric, true));
    ASSERT_TRUE(Succeeded(measured));
    EXPECT_EQ(measured->examples, metric == Metric::kCosine ? 40U : 20U);
    EXPECT_TRUE(measured->losses.empty());
    const auto base = Plain(metric, {0, 1, 2}, 2, AllAt(2));
    EXPECT_EQ(measured->baseline, Quality(metric, base));
    EXPECT_NEAR(measured->standard_error, ErrorOf(Influence(metric, base), {}), 1e-9);
    const std::vector<uint32_t> bits = {3, 4, 5, 6, 32};
    EXPECT_EQ(measured->gain_bits, bits);
    for (uint32_t shard = 0; shard < 6; ++shard) {
      for (size_t i = 0; i < bits.size(); ++i) {
        const auto raised = Plain(metric, {0, 1, 2}, 2, [&](uint32_t layer, uint32_t slice) {
          return layer * 2 + slice == shard ? bits[i] : 2U;
        });
        const double quality = Quality(metric, raised);
        EXPECT_NEAR(measured->gains[shard * 5 + i], quality - measured->baseline, 1e-12);
        if (bits[i] != 32) continue;
        EXPECT_EQ(measured->scores[shard], quality) << NameOf(metric) << " " << shard;
        EXPECT_NEAR(measured->errors[shard],
                    ErrorOf(Influence(metric, raised), Influence(metric, base)), 1e-8);
      }
    }
  }
}

TEST_P(EmbeddingImportance, CostsAreWhatTheRunnerCounts) {
  for (const Metric metric : kBoth) ExpectCostsAreWhatTheRunnerCounts(By(metric, true, true));
}

TEST_P(EmbeddingImportance, SubmodelsEqualOneEvaluationEach) {
  for (const Metric metric : kBoth) {
    const auto measured = Measure(By(metric, false, true));
    ASSERT_TRUE(Succeeded(measured));
    EXPECT_EQ(measured->submodels.size(), 16U);
    for (const SubmodelScore& score : measured->submodels) {
      const double quality = Quality(metric, Plain(metric, info().depth_layers[score.depth - 1],
                                                   score.width, AllAt(score.bits)));
      EXPECT_EQ(score.accuracy, quality) << score.depth << "x" << score.width;
      EXPECT_NEAR(score.loss, 1 - quality, 1e-15);
    }
    if (metric == Metric::kCosine) {
      EXPECT_NEAR(measured->submodels.back().accuracy, 1, 1e-9) << "the full model";
    }
  }
}

TEST_P(EmbeddingImportance, PartsJoinToTheSameBytesWhateverTheMemory) {
  MakePairs(100);  // more than one chunk
  for (const Metric metric : kBoth) {
    const bool keeps = metric == Metric::kSpearman;
    ExpectPartsJoin(By(metric, true, true), [&](const ImportancePart& part) {
      EXPECT_EQ(part.job.scores.size(), keeps ? 100U : 0U);
    });
  }
}

TEST_P(EmbeddingImportance, IsResumedWhereItWasStopped) {
  MakePairs(100);
  ExpectIsResumed(By(Metric::kSpearman, true), [](const ImportancePart& stopped) {
    EXPECT_EQ(stopped.job.units, 14U) << "two chunks";
    EXPECT_GT(stopped.end, 7U) << "in the second";
  });
}

// Raising from 6 bits moves weights so little that what a shard moves is linear in them. So the
// slopes of all shards add up to twice the loss, and an estimate has about what is measured.
TEST_P(EmbeddingImportance, EstimatedGainsAddUpToTheLossWhereChangesAreSmall) {
  Shard(path_ + ".model", {6, 32});
  const auto estimate = Estimate(By(Metric::kCosine, true));
  const auto measured = Measure(By(Metric::kCosine, true));
  ASSERT_TRUE(Succeeded(estimate));
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_EQ(estimate->baseline, measured->baseline);
  EXPECT_EQ(estimate->estimate, "half of first-order");
  const auto sum = [](const std::vector<double>& gains) {
    return std::accumulate(gains.begin(), gains.end(), 0.0);
  };
  const double loss = 1 - measured->baseline;
  ASSERT_GT(loss, 1e-6);
  EXPECT_NEAR(sum(estimate->gains), loss, loss / 50);
  EXPECT_NEAR(sum(estimate->gains), sum(measured->gains), loss / 2);
}

// The definition of the estimate, an example at a time.
TEST_P(EmbeddingImportance, EstimateIsWhatTheSlopesOfEachExampleSay) {
  for (const Metric metric : kBoth) {
    const auto estimate = Estimate(By(metric));
    ASSERT_TRUE(Succeeded(estimate));
    const auto base = Plain(metric, {0, 1, 2}, 2, AllAt(2));
    EXPECT_NEAR(estimate->baseline, Quality(metric, base), 1e-7);
    const std::vector<std::string> texts = Texts();
    std::vector<std::vector<double>> moved(6, base);  // of each shard, what Plain would give
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::vector<float> own = Vector(texts[i], {0, 1, 2}, 2, AllAt(2));
      const bool pairs = metric == Metric::kSpearman;
      const std::vector<float> other = pairs ? Vector(texts[i ^ 1], {0, 1, 2}, 2, AllAt(2))
                                             : Vector(texts[i], {0, 1, 2}, 2, AllAt(32));
      std::vector<float> gradient(own.size());
      CosineGradient(own, other, gradient.data());
      const auto slopes =
          SlopesOf(tokenizer_.Encode(texts[i], std::nullopt, info().max_length()), gradient);
      for (size_t shard = 0; shard < 6; ++shard) {
        if (pairs) moved[shard][i / 2] += slopes[shard];
        if (!pairs) moved[shard][i] -= slopes[shard] / 2;
      }
    }
    for (size_t shard = 0; shard < 6; ++shard)
      EXPECT_NEAR(estimate->scores[shard], Quality(metric, moved[shard]), 1e-7) << NameOf(metric);
  }
}

TEST_P(EmbeddingImportance, EstimateAndOrderAreTheSameForAnyThreadsAndBatches) {
  for (const Metric metric : kBoth) ExpectEstimateAndOrderAreTheSame(By(metric, true));
}

TEST_P(EmbeddingImportance, OrderLeavesOutTheLayerThatIsMissedLeast) {
  for (const Metric metric : kBoth) {
    const auto order = Order(By(metric));
    ASSERT_TRUE(Succeeded(order));
    std::vector<uint32_t> kept{0, 1, 2};
    for (size_t n = 2; n > 0; --n) {
      std::vector<std::vector<uint32_t>> rests;
      for (const uint32_t out : kept) {
        rests.push_back(kept);
        std::erase(rests.back(), out);
      }
      kept = *std::ranges::max_element(rests, {}, [&](const std::vector<uint32_t>& layers) {
        return Quality(metric, Plain(metric, layers, 2, AllAt(32)));
      });
      EXPECT_EQ(order->depth_layers[n - 1], kept) << NameOf(metric);
    }
  }
}

TEST_P(EmbeddingImportance, RefusesWhatSaysNothing) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kLoss, Metric::kKl}) {
    EXPECT_TRUE(FailedWith(Measure(By(metric)), ErrorKind::kUsage,
                           std::string("the metric ") + NameOf(metric) +
                               " is not for models that embed texts, as this one does"));
    EXPECT_FALSE(Estimate(By(metric)).ok());
    EXPECT_FALSE(Order(By(metric)).ok());
  }
  for (Example& example : examples_) example.score = 2;
  EXPECT_TRUE(FailedWith(Measure(By(Metric::kSpearman)), ErrorKind::kDamaged, "the same score"));
  examples_[3].score.reset();
  EXPECT_TRUE(FailedWith(Measure(By(Metric::kSpearman)), ErrorKind::kDamaged, "no pair with a"));
}

INSTANTIATE_TEST_SUITE_P(Poolings, EmbeddingImportance, ::testing::Values("mean", "cls", "max"),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace sti
