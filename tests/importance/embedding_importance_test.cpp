// Importance of models that embed: by the cosine with the full model's embeddings, and by how pairs
// are ranked. All is held against plain evaluations, an example at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "format/importance_file.h"
#include "importance/importance_join.h"
#include "importance/importance_world.h"
#include "importance/loss_gradient.h"
#include "importance/measured_order.h"
#include "importance/quick_importance.h"
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
    Shard({2, 3, 4, 5, 6, 32});
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

  void Shard(const std::vector<uint32_t>& bits) {
    const auto folder = ModelFolder::Open(path_ + ".model");
    ASSERT_TRUE(Succeeded(folder));
    ShardOptions options;
    options.bits = bits;
    ASSERT_TRUE(Succeeded(ShardModel(*folder, options, path_)));
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    auto loaded = LoadedModel::Load(std::move(file).value(), bits);
    ASSERT_TRUE(Succeeded(loaded));
    model_ = std::make_unique<LoadedModel>(std::move(loaded).value());
    Compute(ComputeType::kFp32);
  }

  const ModelInfo& info() { return model_->index().info; }

  // The embedding of a text, alone, from the first `width` slices of these layers.
  std::vector<float> Vector(const std::string& text, const std::vector<uint32_t>& layers,
                            uint32_t width, const ShardBits& bits) {
    const Encoding e = tokenizer_.Encode(text, std::nullopt, info().max_length());
    const uint32_t offsets[] = {0, static_cast<uint32_t>(e.ids.size())};
    std::vector<float> hidden(e.ids.size() * info().shape.hidden);
    EXPECT_TRUE(Succeeded(model_->Embed(*transformer_, {offsets}, e.ids, e.types, hidden.data())));
    std::vector<uint32_t> slices(width);
    std::iota(slices.begin(), slices.end(), 0U);
    for (const uint32_t layer : layers) {
      std::vector<ShardView> views;
      for (const uint32_t slice : slices)
        views.push_back(model_->View(layer, slice, bits(layer, slice)));
      transformer_->RunLayer(
          {{offsets}, {views, slices, model_->resident().layers[layer]}, OutputRows::kAll},
          hidden.data());
    }
    std::vector<float> vector(info().shape.hidden);
    transformer_->Head({offsets}, hidden.data(), model_->resident().head, vector.data());
    return vector;
  }

  static ShardBits AllAt(uint32_t bits) {
    return [bits](uint32_t, uint32_t) { return bits; };
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

  Result<Importance> Estimate(const ImportanceOptions& options) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return EstimateImportance(std::move(file), tokenizer_, examples_, options);
  }

  Result<ModelOrder> Order(const ImportanceOptions& options) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return MeasureOrder(std::move(file), tokenizer_, examples_, options);
  }

  static ImportanceOptions By(Metric metric, bool gains = false, bool submodels = false) {
    ImportanceOptions options;
    options.metric = metric;
    options.gains = gains;
    options.submodels = submodels;
    return options;
  }
};

double ErrorOf(const std::vector<double>& values, const std::vector<double>& less) {
  RunningMean mean;
  for (size_t i = 0; i < values.size(); ++i) mean.Add(values[i] - (less.empty() ? 0 : less[i]));
  return mean.standard_error();
}

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

// The work that is announced is the work that is done, as long as there is memory.
TEST_P(EmbeddingImportance, CostsAreWhatTheRunnerCounts) {
  for (const Metric metric : kBoth) {
    ImportanceOptions options = By(metric, true, true);
    uint64_t announced = 0;
    options.progress = [&](uint64_t, uint64_t total) { announced = total; };
    ImportanceWork work;
    ASSERT_TRUE(Succeeded(Measure(options, &work)));
    EXPECT_EQ(work.flops / kProgressFlops, announced);
    EXPECT_GT(work.plain_flops, work.flops);
    const uint64_t bound = 2 * work.least_bytes;
    options.cache_bytes = bound;
    ASSERT_TRUE(Succeeded(Measure(options, &work)));
    EXPECT_LE(work.held_bytes, bound);
  }
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
    ImportanceOptions options = By(metric, true, true);
    const auto whole = Measure(options);
    ASSERT_TRUE(Succeeded(whole));
    const auto bytes = EncodeImportance(*whole);
    for (const uint32_t parts : {2U, 5U}) {
      std::vector<NamedPart> all;
      options.parts = parts;
      options.cache_bytes = parts == 2 ? 0 : uint64_t{1} << 28;
      options.threads = parts == 2 ? 2 : 1;
      for (options.part = 1; options.part <= parts; ++options.part) {
        auto part = MeasurePart(options);
        ASSERT_TRUE(Succeeded(part));
        const bool keeps = metric == Metric::kSpearman;
        EXPECT_EQ(part->job.scores.size(), keeps ? 100U : 0U);
        all.push_back({"p" + std::to_string(options.part), *std::move(part)});
      }
      std::reverse(all.begin(), all.end());
      const auto joined = JoinImportanceParts(std::move(all));
      ASSERT_TRUE(Succeeded(joined));
      EXPECT_EQ(EncodeImportance(*joined), bytes) << parts;
    }
  }
}

TEST_P(EmbeddingImportance, IsResumedWhereItWasStopped) {
  MakePairs(100);
  ImportanceOptions options = By(Metric::kSpearman, true);
  const auto whole = Measure(options);
  ASSERT_TRUE(Succeeded(whole));
  ImportancePart stopped;
  options.checkpoint = [&](const ImportancePart& part, bool) -> Status {
    stopped = part;
    return {};
  };
  options.cancelled = [&] { return stopped.end > 0 && stopped.end > stopped.job.units / 2; };
  EXPECT_FALSE(MeasurePart(options).ok());
  EXPECT_EQ(stopped.job.units, 14U) << "two chunks";
  ASSERT_GT(stopped.end, 7U) << "in the second";
  ASSERT_LT(stopped.end, stopped.due);
  options.cancelled = {};
  options.resume = &stopped;
  const auto resumed = Measure(options);
  ASSERT_TRUE(Succeeded(resumed));
  EXPECT_EQ(EncodeImportance(*resumed), EncodeImportance(*whole));
}

// Raising from 6 bits moves weights so little that what a shard moves is linear in them. So the
// slopes of all shards add up to twice the loss, and an estimate has about what is measured.
TEST_P(EmbeddingImportance, EstimatedGainsAddUpToTheLossWhereChangesAreSmall) {
  Shard({6, 32});
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
  for (const Metric metric : kBoth) {
    ImportanceOptions options = By(metric, true);
    const auto one = Estimate(options);
    const auto order = Order(options);
    options.threads = 3;
    options.cache_bytes = 1;
    const auto three = Estimate(options);
    const auto again = Order(options);
    ASSERT_TRUE(Succeeded(one));
    ASSERT_TRUE(Succeeded(three));
    EXPECT_EQ(EncodeImportance(*one), EncodeImportance(*three));
    ASSERT_TRUE(Succeeded(order));
    EXPECT_EQ(*again, *order);
    EXPECT_EQ(ProblemOfOrder(*order, 3, 2), "");
  }
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
