#include "measure/score.h"

#include <algorithm>
#include <cmath>

namespace sti {
namespace {

double LogSumExp(std::span<const float> logits) {
  double top = double{*std::max_element(logits.begin(), logits.end())};
  double sum = 0;
  for (float logit : logits) sum += std::exp(double{logit} - top);
  return top + std::log(sum);
}

}  // namespace

double CrossEntropy(std::span<const float> logits, uint32_t label) {
  return LogSumExp(logits) - double{logits[label]};
}

double KlDivergence(std::span<const float> reference, std::span<const float> logits) {
  double reference_norm = LogSumExp(reference);
  double norm = LogSumExp(logits);
  double divergence = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    double log_p = double{reference[i]} - reference_norm;
    divergence += std::exp(log_p) * (log_p - (double{logits[i]} - norm));
  }
  return divergence;
}

uint32_t ArgMax(std::span<const float> logits) {
  return static_cast<uint32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void RunningMean::Add(double value) {
  ++count_;
  sum_ += value;
  squares_ += value * value;
}

double RunningMean::standard_error() const {
  if (count_ < 2) return 0;
  auto n = static_cast<double>(count_);
  double variance = std::max(0.0, squares_ / n - mean() * mean()) * n / (n - 1);
  return std::sqrt(variance / n);
}

}  // namespace sti
