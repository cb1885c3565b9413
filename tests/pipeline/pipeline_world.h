// A tiny container and the pipelines over it that the pipeline's tests compare.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/block_reader.h"
#include "io/container_file.h"
#include "model/loaded_model.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/plans.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {

using Ids = std::vector<uint32_t>;

inline const Ids kTextIds{2, 5, 7, 9, 11, 14, 16, 32, 3};
inline const Ids kTextTypes{0, 0, 0, 0, 0, 1, 1, 1, 1};

/// A model whose plans are computed shard by shard from memory: no lanes, no schedule.
class DirectModel {
 public:
  explicit DirectModel(const std::string& path) : pool_(1) {
    auto file = ContainerFile::Open(path);
    const std::vector<uint32_t> all{2, 3, 4, 5, 6, 32};
    auto model = LoadedModel::Load(std::move(file).value(), all);
    EXPECT_TRUE(Succeeded(model));
    model_ = std::make_unique<LoadedModel>(std::move(*model));
    transformer_ =
        std::move(Transformer::Create(model_->index().info, pool_, {Backend::kNative})).value();
  }

  /// A shard of 0 bits is left out.
  std::vector<float> Logits(const PlanCore& plan, const Ids& ids, const Ids& types) {
    const ModelShape& shape = model_->index().info.shape;
    const uint32_t offsets[] = {0, static_cast<uint32_t>(ids.size())};
    std::vector<float> hidden(ids.size() * shape.hidden);
    EXPECT_TRUE(Succeeded(model_->Embed(*transformer_, {offsets}, ids, types, hidden.data())));
    for (uint32_t k = 0; k < plan.layers.size(); ++k) {
      std::vector<ShardView> views;
      Ids slices;
      for (uint32_t i = 0; i < plan.width; ++i) {
        if (plan.bits.At(k, i) == 0) continue;
        views.push_back(model_->View(plan.layers[k], plan.slices.At(k, i), plan.bits.At(k, i)));
        slices.push_back(plan.slices.At(k, i));
      }
      transformer_->RunLayer(
          {{offsets}, {views, slices, model_->resident().layers[plan.layers[k]]}}, hidden.data());
    }
    std::vector<float> logits(shape.labels);
    transformer_->Classify(1, hidden.data(), model_->resident().head, logits.data());
    return logits;
  }

 private:
  ThreadPool pool_;
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<Transformer> transformer_;
};

/// The logits of the text's ids, by DirectModel.
inline std::vector<float> DirectLogits(const std::string& path, const PlanCore& plan) {
  return DirectModel(path).Logits(plan, kTextIds, kTextTypes);
}

/// `plan` at the bits that a run reports.
inline Plan Degraded(Plan plan, const std::vector<DegradedShard>& degraded) {
  for (const DegradedShard& shard : degraded) {
    for (uint32_t k = 0; k < plan.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan.width; ++i) {
        if (plan.Id(k, i) == shard.id) plan.bits.At(k, i) = shard.bits;
      }
    }
  }
  return plan;
}

class PipelineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto report = WriteTinyContainer(path_, FiveByFour());
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
  }

  [[nodiscard]] Plan WholeAt(uint32_t bits) const {
    WholePlanOptions options;
    options.bits = bits;
    auto plan = MakeWholePlan(index_, options);
    EXPECT_TRUE(Succeeded(plan));
    return *plan;
  }
  /// All bitwidths beside each other, and slices out of order.
  [[nodiscard]] Plan Mixed() const {
    Plan plan = WholeAt(2);
    plan.layers = {0, 2, 3, 4};
    plan.width = 3;
    plan.slices = {{0, 1, 2}, {3, 0, 1}, {1, 2, 3}, {2, 1, 0}};
    plan.bits = {{2, 6, 32}, {3, 4, 5}, {6, 6, 6}, {32, 2, 4}};
    return plan;
  }
  /// Sets the bits of the plan's k-th layer.
  static void SetRow(Plan& plan, uint32_t k, std::initializer_list<uint32_t> bits) {
    std::copy(bits.begin(), bits.end(), plan.bits.Row(k).begin());
  }

  /// A pipeline whose reads go through `reader`, which then is the pipeline's.
  Result<std::unique_ptr<Pipeline>> MakeOver(std::unique_ptr<BlockReader> reader, const Plan& plan,
                                             const PipelineOptions& options = {}) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(std::move(reader)));
    return Pipeline::Create(std::move(file), plan, options);
  }
  /// `plan` with `count` turns of random bits that never fall, and random prefixes kept.
  [[nodiscard]] Plan WithTurns(Plan plan, size_t count, TestRandom& random) const {
    plan.turns.resize(count);
    auto bits = plan.bits;
    for (PlanTurn& turn : plan.turns) {
      const auto before = bits;
      if (&turn != &plan.turns.front()) {
        for (uint32_t& b : bits.values())
          b = b > 6 ? b : std::min(6U, b + static_cast<uint32_t>(random.Below(2)));
      }
      turn.bits = bits;
      size_t kept = &turn == &plan.turns.front() ? plan.preload.size() : random.Below(21);
      for (uint32_t k = 0; k < plan.layers.size(); ++k) {
        for (uint32_t i = 0; i < plan.width && kept > 0; ++i, --kept)
          turn.preload.push_back({plan.Id(k, i), before.At(k, i)});
      }
    }
    return plan;
  }

  Result<std::unique_ptr<Pipeline>> Make(const Plan& plan, const PipelineOptions& options = {},
                                         ReadPath path = ReadPath::kAuto) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_, path));
    return Pipeline::Create(std::move(file), plan, options);
  }
  /// Logits of one run, or nothing after a failure.
  std::vector<float> Logits(const Plan& plan, const PipelineOptions& options = {},
                            ReadPath path = ReadPath::kAuto) {
    auto pipeline = Make(plan, options, path);
    EXPECT_TRUE(Succeeded(pipeline));
    if (!pipeline.ok()) return {};
    const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
    EXPECT_TRUE(Succeeded(result));
    return result.ok() ? result->values : std::vector<float>{};
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
};

}  // namespace sti
