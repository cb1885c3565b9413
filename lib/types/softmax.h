// The softmax of a few logits, its log-sum-exp and the sigmoid, in double precision: what turns
// the logits of an answer into probabilities and losses. Rows of activations are the kernels',
// which compute in fp32.
//
// All functions are pure and thread-safe. The order of operations is part of each of them: measured
// importance has their bits.
#pragma once

#include <span>

namespace sti {

/// The denominator of softmax(logits / temperature).
struct SoftmaxSum {
  double top = 0;          ///< the greatest logit
  double sum = 0;          ///< over logits, of exp((logit - top) / temperature)
  double temperature = 1;  ///< above 0
};

/// Returns the denominator for `logits` [labels], at least one; `temperature` is above 0.
SoftmaxSum SoftmaxSumOf(std::span<const float> logits, double temperature = 1);

/// Returns the probability of one of the logits that `of` is the denominator for.
double ProbabilityOf(float logit, const SoftmaxSum& of);

/// Writes softmax(logits / temperature) to `probabilities`, as many.
void SoftmaxAt(std::span<const float> logits, double temperature, std::span<float> probabilities);

/// Returns log(sum of exp(logit)) over `logits` [labels], at least one.
double LogSumExp(std::span<const float> logits);

/// Returns 1 / (1 + e^-x).
double Sigmoid(double x);

/// Returns log(1 + e^x), which is -log of the sigmoid of -x, without overflow.
double SoftPlus(double x);

}  // namespace sti
