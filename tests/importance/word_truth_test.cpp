#include "importance/word_truth.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/random.h"

namespace sti {
namespace {

// The gradients of losses are what differences say.
TEST(WordTruth, GradientsAgreeWithDifferences) {
  WordTruth truth;
  truth.rows = {1, std::nullopt, 3, 4, 5};
  truth.labels = {2, 0, std::nullopt, 1, 0};
  TestRandom random(7);
  std::vector<float> logits(size_t{7} * 3);
  std::vector<float> reference(logits.size());
  for (float& logit : logits) logit = static_cast<float>(random.Below(4000)) / 1000 - 2;
  for (float& logit : reference) logit = static_cast<float>(random.Below(4000)) / 1000 - 2;
  EXPECT_EQ(CountedWords(truth), 3U);
  WordTruth untagged = truth;
  untagged.labels.clear();
  EXPECT_EQ(CountedWords(untagged), 4U);
  for (const bool by_reference : {false, true}) {
    const auto loss = [&](const std::vector<float>& values) {
      return by_reference ? WordDivergence(untagged, {reference, 3}, {values, 3})
                          : WordLoss(truth, {values, 3});
    };
    std::vector<float> gradient(logits.size(), 9.0F);
    if (by_reference) {
      WordDivergenceGradient(untagged, {reference, 3}, {logits, 3}, gradient);
    } else {
      WordLossGradient(truth, {logits, 3}, gradient);
    }
    for (size_t i = 0; i < logits.size(); ++i) {
      constexpr float kStep = 0x1p-7F;
      std::vector<float> more = logits;
      std::vector<float> less = logits;
      more[i] += kStep;
      less[i] -= kStep;
      EXPECT_NEAR(double{gradient[i]}, (loss(more) - loss(less)) / (2 * double{kStep}), 1e-4) << i;
    }
  }
}

TEST(WordTruth, OfNoWordsHasNoLoss) {
  EXPECT_EQ(WordLoss({}, {}), 0);
  EXPECT_EQ(WordDivergence({}, {}, {}), 0);
  WordTruth unknown;
  unknown.rows = {0};
  unknown.labels = {std::nullopt};
  EXPECT_EQ(CountedWords(unknown), 0U) << "the model has no label for it";
  std::vector<float> gradient(2, 1.0F);
  const std::vector<float> logits{1, 2};
  WordLossGradient(unknown, {logits, 2}, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace sti
