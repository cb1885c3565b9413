#include "importance/loss_gradient.h"

#include <vector>

#include "model/transformer.h"

namespace sti {
namespace {

std::vector<float> ProbabilitiesOf(Problem problem, std::span<const float> logits) {
  std::vector<float> probabilities(logits.begin(), logits.end());
  Probabilities(problem, probabilities);
  return probabilities;
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

}  // namespace sti
