#include "types/score.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sti {
namespace {

bool Applies(float logit, double threshold) { return Sigmoid(double{logit}) >= threshold; }

}  // namespace

double CrossEntropy(std::span<const float> logits, uint32_t label) {
  return LogSumExp(logits) - double{logits[label]};
}

double CrossEntropyAt(std::span<const float> logits, uint32_t label, double temperature) {
  const SoftmaxSum of = SoftmaxSumOf(logits, temperature);
  return std::log(of.sum) - (double{logits[label]} - of.top) / temperature;
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

double BinaryCrossEntropy(std::span<const float> logits, std::span<const uint32_t> truth) {
  double loss = 0;
  for (float logit : logits) loss += SoftPlus(double{logit});
  for (uint32_t label : truth) loss -= double{logits[label]};
  return loss / static_cast<double>(logits.size());
}

double BernoulliDivergence(std::span<const float> reference, std::span<const float> logits) {
  double divergence = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double r = double{reference[i]};
    const double x = double{logits[i]};
    const double p = std::exp(-SoftPlus(-r));
    divergence += p * (SoftPlus(-x) - SoftPlus(-r)) + (1 - p) * (SoftPlus(x) - SoftPlus(r));
  }
  return divergence;
}

Judgement Judge(Problem problem, std::span<const float> logits, std::span<const uint32_t> truth,
                double threshold) {
  if (problem == Problem::kSingleLabel) {
    return {ArgMax(logits) == truth[0], CrossEntropy(logits, truth[0])};
  }
  bool right = true;
  for (uint32_t label = 0; label < logits.size(); ++label) {
    const bool said = Applies(logits[label], threshold);
    right = right && said == std::binary_search(truth.begin(), truth.end(), label);
  }
  return {right, BinaryCrossEntropy(logits, truth)};
}

std::vector<uint32_t> LabelsOf(Problem problem, std::span<const float> logits, double threshold) {
  if (problem == Problem::kSingleLabel) return {ArgMax(logits)};
  std::vector<uint32_t> labels;
  for (uint32_t label = 0; label < logits.size(); ++label) {
    if (Applies(logits[label], threshold)) labels.push_back(label);
  }
  return labels;
}

double Divergence(Problem problem, std::span<const float> reference,
                  std::span<const float> logits) {
  return problem == Problem::kSingleLabel ? KlDivergence(reference, logits)
                                          : BernoulliDivergence(reference, logits);
}

double InnerProduct(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

double LengthOf(std::span<const float> vector) { return std::sqrt(InnerProduct(vector, vector)); }

double Cosine(std::span<const float> a, std::span<const float> b) {
  return std::clamp(InnerProduct(a, b) / (LengthOf(a) * LengthOf(b)), -1.0, 1.0);
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
