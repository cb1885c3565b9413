#include "importance/loss_gradient.h"

#include <cmath>
#include <vector>

#include "model/transformer.h"
#include "types/score.h"

namespace sti {
namespace {

std::vector<float> ProbabilitiesOf(Problem problem, std::span<const float> logits) {
  std::vector<float> probabilities(logits.begin(), logits.end());
  Probabilities(problem, probabilities);
  return probabilities;
}

// One step of splitmix64: bits that look random, and are the same everywhere.
uint64_t Mixed(uint64_t number) {
  uint64_t z = (number + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace

// The gradient of both problems is what the model says less what is true; the binary one is a mean
// over the labels.
void LossGradient(Problem problem, std::span<const float> logits, std::span<const uint32_t> truth,
                  float* gradient) {
  const std::vector<float> said = ProbabilitiesOf(problem, logits);
  const auto labels = static_cast<float>(logits.size());
  for (size_t i = 0; i < said.size(); ++i) gradient[i] = said[i];
  for (const uint32_t label : truth) gradient[label] -= 1;
  if (problem == Problem::kSingleLabel) return;
  for (size_t i = 0; i < said.size(); ++i) gradient[i] /= labels;
}

void DivergenceGradient(Problem problem, std::span<const float> reference,
                        std::span<const float> logits, float* gradient) {
  const std::vector<float> said = ProbabilitiesOf(problem, logits);
  const std::vector<float> wanted = ProbabilitiesOf(problem, reference);
  for (size_t i = 0; i < said.size(); ++i) gradient[i] = said[i] - wanted[i];
}

void CosineGradient(std::span<const float> a, std::span<const float> b, float* gradient) {
  const double product = InnerProduct(a, b);
  const double squares_a = InnerProduct(a, a);
  const double lengths = std::sqrt(squares_a) * LengthOf(b);
  for (size_t i = 0; i < a.size(); ++i) {
    const double across = double{b[i]} - double{a[i]} * product / squares_a;
    gradient[i] = static_cast<float>(across / lengths);
  }
}

void DirectionGradient(std::span<const float> embedding, uint64_t number, float* gradient) {
  constexpr size_t kBits = 64;
  std::vector<float> direction(embedding.size());
  uint64_t signs = 0;
  for (size_t i = 0; i < direction.size(); ++i) {
    if (i % kBits == 0) signs = Mixed(number << 32 | i / kBits);
    direction[i] = (signs >> (i % kBits) & 1) != 0 ? 1.0F : -1.0F;
  }
  CosineGradient(embedding, direction, gradient);
  const auto length = static_cast<float>(std::sqrt(static_cast<double>(direction.size())));
  for (size_t i = 0; i < direction.size(); ++i) gradient[i] *= length;
}

}  // namespace sti
