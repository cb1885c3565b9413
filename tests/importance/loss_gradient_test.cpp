#include "importance/loss_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "types/score.h"

namespace sti {
namespace {

using Logits = std::vector<float>;

const Logits kLogits = {0.5F, -1.25F, 2.0F, 0.0F};
const Logits kReference = {1.0F, 1.0F, -0.5F, 3.0F};

// How a loss grows with each logit, by central differences.
void ExpectIsGradient(const std::function<double(const Logits&)>& loss, const Logits& gradient) {
  constexpr float kStep = 0x1p-8F;
  for (size_t i = 0; i < kLogits.size(); ++i) {
    Logits more = kLogits;
    Logits less = kLogits;
    more[i] += kStep;
    less[i] -= kStep;
    EXPECT_NEAR(gradient[i], (loss(more) - loss(less)) / (2 * double{kStep}), 1e-5) << i;
  }
}

TEST(LossGradient, AgreesWithDifferences) {
  const std::vector<uint32_t> one = {1};
  const std::vector<uint32_t> two = {0, 2};
  const std::vector<uint32_t> none;
  const std::pair<Problem, std::vector<uint32_t>> cases[] = {{Problem::kSingleLabel, one},
                                                             {Problem::kMultiLabel, one},
                                                             {Problem::kMultiLabel, two},
                                                             {Problem::kMultiLabel, none}};
  for (const auto& [problem, truth] : cases) {
    Logits gradient(4);
    LossGradient(problem, kLogits, truth, gradient.data());
    ExpectIsGradient(
        [p = problem, &t = truth](const Logits& logits) { return Judge(p, logits, t).loss; },
        gradient);
  }
}

TEST(DivergenceGradient, AgreesWithDifferences) {
  for (const Problem problem : {Problem::kSingleLabel, Problem::kMultiLabel}) {
    Logits gradient(4);
    DivergenceGradient(problem, kReference, kLogits, gradient.data());
    ExpectIsGradient(
        [problem](const Logits& logits) { return Divergence(problem, kReference, logits); },
        gradient);
  }
}

TEST(DivergenceGradient, IsNothingWhereNothingDiverges) {
  Logits gradient(4, 1.0F);
  DivergenceGradient(Problem::kSingleLabel, kLogits, kLogits, gradient.data());
  EXPECT_EQ(gradient, Logits(4, 0.0F));
}

}  // namespace
}  // namespace sti
