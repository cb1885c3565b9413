// A tiny model, examples for it, and its logits for one example at a time, computed plainly.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "import/model_folder.h"
#include "import/shard_model.h"
#include "importance/gradient.h"
#include "importance/importance_join.h"
#include "importance/measure.h"
#include "importance/measured_order.h"
#include "importance/quick_importance.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "support/test_tokenizer.h"
#include "types/score.h"

namespace sti {

/// Bits of a shard by layer and slice.
using ShardBits = std::function<uint32_t(uint32_t layer, uint32_t slice)>;

/// The sums of plain evaluations: losses are rounded to 2^-32 nat, so that their sum is exact.
class PlainSum {
 public:
  void Add(bool right, double loss) {
    ++count_;
    right_ += right ? 1 : 0;
    units_ += std::llround(loss * kUnits);
  }
  [[nodiscard]] double right() const { return static_cast<double>(right_) / count_; }
  [[nodiscard]] double loss() const { return static_cast<double>(units_) / kUnits / count_; }

 private:
  static constexpr double kUnits = 4294967296.0;
  int count_ = 0;
  int right_ = 0;
  int64_t units_ = 0;
};

class ImportanceWorld : public ::testing::Test {
 protected:
  void SetUp() override {
    Use({});
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

  /// The model from now on: three layers, all bitwidths.
  void Use(TinyModelOptions model) {
    model.layers = 3;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model)));
    Load({2, 3, 4, 5, 6, 32});
  }

  /// Loads the container at `bits`.
  void Load(const std::vector<uint32_t>& bits) {
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    auto loaded = LoadedModel::Load(std::move(file).value(), bits);
    ASSERT_TRUE(Succeeded(loaded));
    model_ = std::make_unique<LoadedModel>(std::move(loaded).value());
    Compute(ComputeType::kFp32);
  }

  /// Shards a model folder at `bits`: the model from now on.
  void Shard(const std::string& dir, const std::vector<uint32_t>& bits) {
    const auto source = ModelFolder::Open(dir);
    ASSERT_TRUE(Succeeded(source));
    ShardOptions options;
    options.bits = bits;
    ASSERT_TRUE(Succeeded(ShardModel(*source, options, path_)));
    Load(bits);
  }

  /// The arithmetic of Logits from now on.
  void Compute(ComputeType type) {
    auto transformer = Transformer::Create(model_->index().info, pool_, {Backend::kNative, type});
    ASSERT_TRUE(Succeeded(transformer));
    transformer_ = std::move(transformer).value();
  }

  Result<Importance> Measure(const ImportanceOptions& options, ImportanceWork* work = nullptr) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return MeasureImportance(std::move(file), tokenizer_, examples_, options, work);
  }

  Result<Importance> Estimate(const ImportanceOptions& options) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return EstimateImportance(std::move(file), tokenizer_, examples_, options);
  }

  Result<ModelOrder> Order(const ImportanceOptions& options) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return MeasureOrder(std::move(file), tokenizer_, examples_, options);
  }

  Result<ImportancePart> MeasurePart(const ImportanceOptions& options) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return MeasureImportancePart(std::move(file), tokenizer_, examples_, options);
  }

  /// Logits of one example, alone, from the first `width` slices of these layers.
  std::vector<float> Logits(const Example& example, const std::vector<uint32_t>& layers,
                            uint32_t width, const ShardBits& bits) {
    const uint32_t longest = model_->index().info.shape.max_positions;
    return Logits(tokenizer_.Encode(example.text, example.pair, longest), layers, width, bits);
  }

  /// Returns the same of a text in tokens. To `received` [tokens], unless it is null, is added what
  /// each token receives of attention, in the last layer of the first token alone.
  std::vector<float> Logits(const Encoding& e, const std::vector<uint32_t>& layers, uint32_t width,
                            const ShardBits& bits, float* received = nullptr) {
    const ModelShape& shape = model_->index().info.shape;
    const uint32_t offsets[] = {0, static_cast<uint32_t>(e.ids.size())};
    std::vector<float> hidden(e.ids.size() * shape.hidden);
    EXPECT_TRUE(Succeeded(model_->Embed(*transformer_, {offsets}, e.ids, e.types, hidden.data())));
    std::vector<uint32_t> slices(width);
    std::iota(slices.begin(), slices.end(), 0U);
    for (const uint32_t layer : layers) {
      std::vector<ShardView> views;
      views.reserve(width);
      for (const uint32_t slice : slices)
        views.push_back(model_->View(layer, slice, bits(layer, slice)));
      const OutputRows rows = layer == layers.back() ? OutputRows::kFirst : OutputRows::kAll;
      transformer_->RunLayer(
          {{offsets}, {views, slices, model_->resident().layers[layer]}, rows, received},
          hidden.data());
    }
    std::vector<float> logits(shape.labels);
    transformer_->Classify(1, hidden.data(), model_->resident().head, logits.data());
    return logits;
  }

  /// Returns what the head gives for an input, alone, from the first `width` slices of these
  /// layers: an embedding, or logits of each token.
  std::vector<float> ValuesOf(const Encoding& e, const std::vector<uint32_t>& layers,
                              uint32_t width, const ShardBits& bits) {
    const ModelInfo& info = model_->index().info;
    const uint32_t offsets[] = {0, static_cast<uint32_t>(e.ids.size())};
    const Batch batch{offsets};
    std::vector<float> hidden(e.ids.size() * info.shape.hidden);
    EXPECT_TRUE(Succeeded(model_->Embed(*transformer_, batch, e.ids, e.types, hidden.data())));
    std::vector<uint32_t> slices(width);
    std::iota(slices.begin(), slices.end(), 0U);
    for (const uint32_t layer : layers) {
      std::vector<ShardView> views;
      for (const uint32_t slice : slices)
        views.push_back(model_->View(layer, slice, bits(layer, slice)));
      transformer_->RunLayer(
          {batch, {views, slices, model_->resident().layers[layer]}, OutputRows::kAll},
          hidden.data());
    }
    std::vector<float> values(size_t{batch.Results(info.head)} * info.head_values());
    transformer_->Head(batch, hidden.data(), model_->resident().head, values.data());
    return values;
  }

  /// Returns the logits of the whole model.
  std::vector<float> Logits(const Example& example, const ShardBits& bits) {
    return Logits(example, {0, 1, 2}, 2, bits);
  }

  std::vector<float> FullLogits(const Example& example) {
    return Logits(example, [](uint32_t, uint32_t) { return 32U; });
  }

  /// Returns how an input's loss changes, to first order, when each shard goes from 2 bits to 32,
  /// [layers, 2]. `at_values` is the gradient of the loss at what the head gives.
  std::vector<double> SlopesOf(const Encoding& e, const std::vector<float>& at_values) {
    const ModelInfo& info = model_->index().info;
    const ResidentModel& resident = model_->resident();
    const uint32_t offsets[] = {0, static_cast<uint32_t>(e.ids.size())};
    std::vector<float> hidden(e.ids.size() * info.shape.hidden);
    EXPECT_TRUE(Succeeded(model_->Embed(*transformer_, {offsets}, e.ids, e.types, hidden.data())));
    const auto dense = [&](uint32_t layer, uint32_t bits) {
      const std::vector<ShardView> views{model_->View(layer, 0, bits),
                                         model_->View(layer, 1, bits)};
      DenseLayer weights;
      DecodeLayer(info.shape, views, pool_, &weights);
      return weights;
    };
    GradientRun pass(info, pool_);
    pass.Begin({offsets});
    for (uint32_t layer = 0; layer < info.shape.layers; ++layer)
      pass.Forward(layer, dense(layer, 2), resident.layers[layer], hidden.data());
    std::vector<float> values(at_values.size());
    pass.Head(resident.head, hidden.data(), values.data());
    pass.BeginBackward(resident.head, at_values);
    std::vector<double> slopes(size_t{info.shape.layers} * 2);
    for (uint32_t layer = info.shape.layers; layer-- > 0;) {
      const DenseLayer low = dense(layer, 2);
      pass.Backward(layer, low, resident.layers[layer]);
      DenseLayer change = dense(layer, 32);
      Subtract(low, &change);
      pass.Derivatives(change, &slopes[layer * 2]);
    }
    return slopes;
  }

  /// Expects that the work that is announced is the work that is done, as long as there is memory,
  /// and that a bound on memory is kept.
  void ExpectCostsAreWhatTheRunnerCounts(ImportanceOptions options) {
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

  /// Expects that parts, written and read, join to the bytes of the whole, whatever the memory and
  /// the threads. `look` sees each part.
  void ExpectPartsJoin(ImportanceOptions options,
                       const std::function<void(const ImportancePart&)>& look) {
    const auto whole = Measure(options);
    ASSERT_TRUE(Succeeded(whole));
    const auto bytes = EncodeImportance(*whole);
    for (const uint32_t parts : {2U, 5U}) {
      std::vector<NamedPart> all;
      options.parts = parts;
      options.cache_bytes = parts == 2 ? 0 : uint64_t{1} << 28;
      options.threads = parts == 2 ? 2 : 1;
      for (options.part = 1; options.part <= parts; ++options.part) {
        const auto part = MeasurePart(options);
        ASSERT_TRUE(Succeeded(part));
        look(*part);
        auto read = ParseImportancePart(EncodeImportancePart(*part), "part");
        ASSERT_TRUE(Succeeded(read));
        EXPECT_EQ(read->job, part->job);
        EXPECT_EQ(read->tallies, part->tallies);
        all.push_back({"p" + std::to_string(options.part), *std::move(read)});
      }
      std::reverse(all.begin(), all.end());
      const auto joined = JoinImportanceParts(std::move(all));
      ASSERT_TRUE(Succeeded(joined));
      EXPECT_EQ(EncodeImportance(*joined), bytes) << NameOf(options.metric) << " " << parts;
    }
  }

  /// Stops a measurement in its middle, which `check` looks at, and expects that going on from
  /// there gives what an undivided one gives. Returns what it was stopped with.
  ImportancePart ExpectIsResumed(ImportanceOptions options,
                                 const std::function<void(const ImportancePart&)>& check) {
    const auto whole = Measure(options);
    EXPECT_TRUE(Succeeded(whole));
    ImportancePart stopped;
    options.checkpoint = [&](const ImportancePart& part, bool) -> Status {
      stopped = part;
      return {};
    };
    options.cancelled = [&] { return stopped.end > 0 && stopped.end > stopped.job.units / 2; };
    EXPECT_FALSE(MeasurePart(options).ok());
    EXPECT_GT(stopped.end, 0U);
    EXPECT_LT(stopped.end, stopped.due);
    check(stopped);
    options.checkpoint = {};
    options.cancelled = {};
    options.resume = &stopped;
    const auto resumed = Measure(options);
    EXPECT_TRUE(Succeeded(resumed));
    EXPECT_EQ(EncodeImportance(*resumed), EncodeImportance(*whole));
    return stopped;
  }

  /// Expects the same estimate and order for any threads and batches.
  void ExpectEstimateAndOrderAreTheSame(ImportanceOptions options) {
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
    const ModelShape& shape = model_->index().info.shape;
    EXPECT_EQ(ProblemOfOrder(*order, shape.layers, shape.width), "");
  }

  static ShardBits AllAt(uint32_t bits) {
    return [bits](uint32_t, uint32_t) { return bits; };
  }

  static ImportanceOptions By(Metric metric, bool gains = false, bool submodels = false) {
    ImportanceOptions options;
    options.metric = metric;
    options.gains = gains;
    options.submodels = submodels;
    return options;
  }

  /// Returns the standard error of the mean of values, or of values less others.
  static double ErrorOf(const std::vector<double>& values, const std::vector<double>& less) {
    RunningMean mean;
    for (size_t i = 0; i < values.size(); ++i) mean.Add(values[i] - (less.empty() ? 0 : less[i]));
    return mean.standard_error();
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  Tokenizer tokenizer_ = TinyTokenizer();
  std::vector<Example> examples_;
  ThreadPool pool_{1};
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<Transformer> transformer_;
};

}  // namespace sti
