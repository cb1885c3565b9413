// The backward of each kind of step, held against differences of its forward.
#include "importance/dense_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "kernels/dense.h"
#include "model/reference_layer.h"

namespace sti {
namespace {

using testing::RandomFloats;
using testing::TestLayer;

constexpr uint32_t kBatchOffsets[] = {0, 1, 5, 14};

using Numbers = ByValue<std::vector<float>>;

ModelInfo InfoOf(Activation activation) {
  ModelInfo info;
  info.shape = {.layers = 1,
                .width = 3,
                .hidden = 3 * 5,
                .ffn = 3 * 7,
                .vocabulary = 10,
                .max_positions = 64,
                .token_types = 2,
                .labels = 3};
  info.activation = activation;
  info.layer_norm_eps = 1e-12;
  return info;
}

/// A random layer, and random numbers in the places of all of its values and gradients.
class Steps {
 public:
  explicit Steps(Activation activation) : info_(InfoOf(activation)) {
    DecodeLayer(info_.shape, layer_.views, pool_, &dense_);
    executor_.Begin(batch_);
    std::mt19937 random(7);
    const ByValue<uint64_t> widths = WidthsOf(EncoderLayer(), info_.shape);
    for (const LayerValue value : kLayerValues) {
      const size_t count = batch_.tokens() * widths[value];
      values_[value] = RandomFloats(count + kDenseSlack, 1, random);
      gradients_[value] = RandomFloats(count + kDenseSlack, 1, random);
      directions_[value] = RandomFloats(count, 1, random);
    }
  }

  /// Expects that the gradients which a step's backward adds are the slopes of what its forward
  /// gives, in the direction of a random change of each value that it reads.
  void ExpectAgrees(const LayerStep& step) {
    const Numbers before = gradients_;
    for (const LayerValue value : kLayerValues) {
      if (!Reads(step, value)) continue;
      const double more = LossWith(step, value, kStep);
      const double less = LossWith(step, value, -kStep);
      const double slope = (more - less) / (2 * kStep);
      Numbers gradients = before;
      // A linear map's gradient is added to what others have begun.
      const bool adds = std::holds_alternative<LinearStep>(step);
      DenseGradients at{.at = Places(gradients), .begun = {}};
      at.begun[value] = adds;
      executor_.Backward(step, {dense_, layer_.parameters}, Places(values_), &at);
      EXPECT_TRUE(at.begun[value]);
      double found = 0;
      for (size_t n = 0; n < directions_[value].size(); ++n) {
        const double there = adds ? before[value][n] : 0;
        found += (double{gradients[value][n]} - there) * directions_[value][n];
      }
      EXPECT_NEAR(found, slope, 2e-3 * (1 + std::abs(slope)))
          << "step " << step.index() << ", value " << static_cast<int>(value);
    }
  }

 private:
  static constexpr double kStep = 4e-3;

  static DenseValues Places(Numbers& numbers) {
    DenseValues places;
    for (const LayerValue value : kLayerValues) places[value] = numbers[value].data();
    return places;
  }

  // Returns what a step gives times the gradient there, with value `moved` so far from where it is.
  double LossWith(const LayerStep& step, LayerValue moved, double by) {
    Numbers values = values_;
    for (size_t n = 0; n < directions_[moved].size(); ++n) {
      values[moved][n] += static_cast<float>(by * directions_[moved][n]);
    }
    executor_.Forward(step, {dense_, layer_.parameters}, Places(values));
    const LayerValue out = WrittenBy(step);
    double loss = 0;
    for (size_t n = 0; n < directions_[out].size(); ++n) {
      loss += double{values[out][n]} * gradients_[out][n];
    }
    return loss;
  }

  ModelInfo info_;
  ThreadPool pool_{2};
  TestLayer layer_{info_.shape, 3};
  DenseLayer dense_;
  Batch batch_{kBatchOffsets};
  DenseExecutor executor_{info_, pool_};
  Numbers values_;
  Numbers gradients_;
  Numbers directions_;
};

TEST(DenseExecutor, EachStepGoesBackAsItsDifferencesSay) {
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
    Steps steps(activation);
    std::set<size_t> kinds;
    for (const LayerStep& step : EncoderLayer()) {
      steps.ExpectAgrees(step);
      kinds.insert(step.index());
    }
    EXPECT_EQ(kinds.size(), std::variant_size_v<LayerStep>);
  }
}

}  // namespace
}  // namespace sti
