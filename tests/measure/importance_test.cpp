#include "measure/importance.h"

#include <gtest/gtest.h>

#include <numeric>

#include "measure/examples.h"
#include "measure/score.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "support/test_tokenizer.h"

namespace sti {
namespace {

class ImportanceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 3;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model)));
    // Enough tokens for more than one batch of the meter.
    TestRandom random(1);
    const auto words = TinyVocabulary();
    for (int i = 0; i < 130; ++i) {
      std::string text;
      const uint64_t length = random.Below(14);
      for (uint64_t w = 0; w < length; ++w) text += words[5 + random.Below(20)] + " ";
      examples_.push_back({text, std::nullopt, static_cast<uint32_t>(random.Below(3))});
    }
  }

  Result<Importance> Measure(const ImportanceOptions& options) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return MeasureImportance(std::move(file), tokenizer_, examples_, options);
  }

  // Logits of one example, alone, with every shard at `bits`, one slice of one layer apart.
  std::vector<float> Logits(LoadedModel& model, Transformer& transformer, const Example& example,
                            uint32_t bits, int raised_layer, uint32_t raised_slice) {
    const ModelShape& shape = model.index().info.shape;
    const Encoding e = tokenizer_.Encode(example.text, example.pair, shape.max_positions);
    const uint32_t offsets[] = {0, static_cast<uint32_t>(e.ids.size())};
    std::vector<float> hidden(e.ids.size() * shape.hidden);
    EXPECT_TRUE(Succeeded(model.Embed(transformer, {offsets}, e.ids, e.types, hidden.data())));
    const std::vector<uint32_t> slices{0, 1};
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
      std::vector<ShardView> views;
      for (const uint32_t slice : slices) {
        const bool raised = static_cast<int>(layer) == raised_layer && slice == raised_slice;
        views.push_back(model.View(layer, slice, raised ? 32 : bits));
      }
      transformer.RunLayer({offsets}, views, slices, model.resident().layers[layer], hidden.data());
    }
    std::vector<float> logits(shape.labels);
    transformer.Head({offsets}, hidden.data(), model.resident().head, logits.data());
    return logits;
  }

  static double ScoreOf(Metric metric, std::span<const float> logits, std::span<const float> full,
                        uint32_t label) {
    if (metric == Metric::kKl) return -KlDivergence(full, logits);
    if (metric == Metric::kLoss) return -CrossEntropy(logits, label);
    return ArgMax(logits) == label ? 1.0 : 0.0;
  }

  // One evaluation of the whole model a shard and example, as the paper describes it.
  Importance Naive(Metric metric) {
    auto file = ContainerFile::Open(path_);
    const std::vector<uint32_t> bits{2, 32};
    auto loaded = LoadedModel::Load(std::move(file).value(), bits);
    EXPECT_TRUE(Succeeded(loaded));
    ThreadPool pool(1);
    auto transformer = Transformer::Create(loaded->index().info, pool, Backend::kNative);
    EXPECT_TRUE(Succeeded(transformer));
    Importance importance;
    for (int shard = -1; shard < 6; ++shard) {
      RunningMean score;
      RunningMean loss;
      for (const Example& example : examples_) {
        const int layer = shard < 0 ? -1 : shard / 2;
        const auto logits = Logits(*loaded, **transformer, example, 2, layer,
                                   static_cast<uint32_t>(shard < 0 ? 0 : shard % 2));
        const auto full = Logits(*loaded, **transformer, example, 32, -1, 0);
        score.Add(ScoreOf(metric, logits, full, *example.label));
        loss.Add(CrossEntropy(logits, *example.label));
      }
      if (shard < 0) {
        importance.baseline = score.mean();
        importance.standard_error = score.standard_error();
      } else {
        importance.scores.push_back(score.mean());
        importance.losses.push_back(loss.mean());
      }
    }
    return importance;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  Tokenizer tokenizer_ = TinyTokenizer();
  std::vector<Example> examples_;
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
