#include "types/softmax.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sti {

SoftmaxSum SoftmaxSumOf(std::span<const float> logits, double temperature) {
  assert(!logits.empty() && temperature > 0);
  SoftmaxSum of{.top = double{*std::max_element(logits.begin(), logits.end())},
                .sum = 0,
                .temperature = temperature};
  for (const float logit : logits) of.sum += std::exp((double{logit} - of.top) / temperature);
  return of;
}

double ProbabilityOf(float logit, const SoftmaxSum& of) {
  return std::exp((double{logit} - of.top) / of.temperature) / of.sum;
}

void SoftmaxAt(std::span<const float> logits, double temperature, std::span<float> probabilities) {
  const SoftmaxSum of = SoftmaxSumOf(logits, temperature);
  std::transform(logits.begin(), logits.end(), probabilities.begin(),
                 [&](float logit) { return static_cast<float>(ProbabilityOf(logit, of)); });
}

double LogSumExp(std::span<const float> logits) {
  const SoftmaxSum of = SoftmaxSumOf(logits);
  return of.top + std::log(of.sum);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double SoftPlus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace sti
