#include "importance/measured_order.h"

#include "importance/importance_world.h"
#include "types/model_order.h"

namespace sti {
namespace {

class ModelOrderTest : public ImportanceWorld {
 protected:
  Result<ModelOrder> Order(Metric metric, uint32_t threads, uint64_t cache_bytes = 1 << 20) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    ImportanceOptions options;
    options.metric = metric;
    options.threads = threads;
    options.cache_bytes = cache_bytes;
    return MeasureOrder(std::move(file), tokenizer_, examples_, options);
  }
};

TEST_F(ModelOrderTest, IsOneOfTheModelAndTheSameForAnyThreads) {
  const auto order = Order(Metric::kLoss, 1);
  ASSERT_TRUE(Succeeded(order));
  EXPECT_EQ(ProblemOfOrder(*order, 3, 2), "");
  EXPECT_EQ(order->neurons.size(), 3U * model_->index().info.shape.ffn);
  const auto again = Order(Metric::kLoss, 3);
  ASSERT_TRUE(Succeeded(again));
  EXPECT_EQ(*again, *order);
}

TEST_F(ModelOrderTest, WithoutTruthsFollowsTheModelsOwnLabels) {
  const auto by_kl = Order(Metric::kKl, 1);
  ASSERT_TRUE(Succeeded(by_kl));
  for (Example& example : examples_) example.label = ArgMax(FullLogits(example));
  const auto by_loss = Order(Metric::kLoss, 1);
  ASSERT_TRUE(Succeeded(by_loss));
  EXPECT_EQ(*by_kl, *by_loss);
}

TEST_F(ModelOrderTest, DepthsLeaveOutTheLayerThatIsMissedLeast) {
  const auto loss_of = [&](const std::vector<uint32_t>& layers) {
    PlainSum sum;
    for (const Example& example : examples_) {
      const auto logits =
          Logits(example, layers, 2, [](uint32_t, uint32_t) { return uint32_t{32}; });
      sum.Add(false, CrossEntropy(logits, *example.label));
    }
    return sum.loss();
  };
  const auto order = Order(Metric::kLoss, 1);
  ASSERT_TRUE(Succeeded(order));
  std::vector<uint32_t> kept{0, 1, 2};
  EXPECT_EQ(order->depth_layers[2], kept);
  for (size_t n = 2; n > 0; --n) {
    std::vector<std::vector<uint32_t>> rests;
    for (const uint32_t out : kept) {
      rests.push_back(kept);
      std::erase(rests.back(), out);
    }
    kept = *std::ranges::min_element(rests, {}, loss_of);
    EXPECT_EQ(order->depth_layers[n - 1], kept);
  }
}

}  // namespace
}  // namespace sti
