// A tiny model, examples for it, and its logits for one example at a time, computed plainly.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "importance/gradient.h"
#include "importance/measure.h"
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
    auto file = ContainerFile::Open(path_);
    const std::vector<uint32_t> bits{2, 3, 4, 5, 6, 32};
    auto loaded = LoadedModel::Load(std::move(file).value(), bits);
    ASSERT_TRUE(Succeeded(loaded));
    model_ = std::make_unique<LoadedModel>(std::move(loaded).value());
    Compute(ComputeType::kFp32);
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

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  Tokenizer tokenizer_ = TinyTokenizer();
  std::vector<Example> examples_;
  ThreadPool pool_{1};
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<Transformer> transformer_;
};

}  // namespace sti
