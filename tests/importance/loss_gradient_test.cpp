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

TEST(CosineGradient, AgreesWithDifferences) {
  Logits gradient(4);
  CosineGradient(kLogits, kReference, gradient.data());
  ExpectIsGradient([](const Logits& embedding) { return Cosine(embedding, kReference); }, gradient);
  ExpectIsGradient([](const Logits& embedding) { return Cosine(kReference, embedding); }, gradient);
}

TEST(CosineGradient, IsNothingAtTheSameDirection) {
  Logits twice = kLogits;
  for (float& value : twice) value *= 2;
  Logits gradient(4, 1.0F);
  CosineGradient(kLogits, twice, gradient.data());
  for (const float value : gradient) EXPECT_NEAR(value, 0, 1e-7);
}

// On average over directions, the square of what a change moves is that of its length, as the
// vector of unit length moves: its part across, over the vector's length.
TEST(DirectionGradient, SquaresAreThoseOfTheChange) {
  constexpr size_t kValues = 100;  // more than one draw has signs
  Logits embedding(kValues);
  Logits change(kValues);
  for (size_t i = 0; i < kValues; ++i) {
    embedding[i] = 1 + static_cast<float>(i % 7);
    change[i] = static_cast<float>(i % 3) - 0.5F;
  }
  double length = 0;
  double along = 0;
  for (size_t i = 0; i < kValues; ++i) {
    length += double{embedding[i]} * double{embedding[i]};
    along += double{embedding[i]} * double{change[i]};
  }
  double expected = 0;
  for (size_t i = 0; i < kValues; ++i) {
    const double across = double{change[i]} - along / length * double{embedding[i]};
    expected += across * across / length;
  }
  constexpr uint64_t kNumbers = 4000;
  double squares = 0;
  Logits gradient(kValues);
  for (uint64_t number = 0; number < kNumbers; ++number) {
    DirectionGradient(embedding, number, gradient.data());
    double moved = 0;
    double at_itself = 0;
    for (size_t i = 0; i < kValues; ++i) {
      moved += double{gradient[i]} * double{change[i]};
      at_itself += double{gradient[i]} * double{embedding[i]};
    }
    squares += moved * moved / kNumbers;
    ASSERT_NEAR(at_itself, 0, 1e-4);
  }
  EXPECT_NEAR(squares, expected, expected / 10);
}

}  // namespace
}  // namespace sti
