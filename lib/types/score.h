// Scores of what a head gives. Of logits: how far they are from the truth, or from other logits,
// and which labels they give. Of embeddings: how alike two of them are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "types/model_info.h"

namespace sti {

/// Returns log softmax of `logits` [labels] at `label`, negated: the cross-entropy of one example,
/// in nats.
double CrossEntropy(std::span<const float> logits, uint32_t label);

/// Returns the cross-entropy of one example under softmax(logits / temperature), in nats. At a
/// temperature of 1 it is CrossEntropy but for the last bits: it adds the logits less the greatest
/// of them.
double CrossEntropyAt(std::span<const float> logits, uint32_t label, double temperature);

/// Returns the KL divergence of softmax(logits) from softmax(reference), in nats.
double KlDivergence(std::span<const float> reference, std::span<const float> logits);

/// Returns the mean over all labels of the binary cross-entropy of its sigmoid, in nats; `truth`
/// has the labels that apply, ascending.
double BinaryCrossEntropy(std::span<const float> logits, std::span<const uint32_t> truth);

/// Returns the sum over all labels of the KL divergence of sigmoid(logit) from sigmoid(reference),
/// in nats.
double BernoulliDivergence(std::span<const float> reference, std::span<const float> logits);

/// How an example is judged.
struct Judgement {
  bool right = false;
  double loss = 0;
};

/// Judges one example. Where it has one label, `truth` has one id, it is right if the logit of that
/// is the largest, and the loss is the cross-entropy. Where it has several, it is right if exactly
/// those of `truth` (ascending) have a sigmoid of at least `threshold`; binary cross-entropy.
Judgement Judge(Problem problem, std::span<const float> logits, std::span<const uint32_t> truth,
                double threshold = 0.5);

/// Returns the labels that a model gives an example, ascending: the id of the largest logit, or
/// those that have a sigmoid of at least `threshold`. Judge is right exactly if they equal the
/// truth.
std::vector<uint32_t> LabelsOf(Problem problem, std::span<const float> logits,
                               double threshold = 0.5);

/// Returns KlDivergence or BernoulliDivergence, as the problem is.
double Divergence(Problem problem, std::span<const float> reference, std::span<const float> logits);

/// Returns the inner product of two vectors of one length, added up in order.
double InnerProduct(std::span<const float> a, std::span<const float> b);

/// Returns the Euclidean length of a vector.
double LengthOf(std::span<const float> vector);

/// Returns the cosine of the angle between two vectors of one length, -1 to 1; no number if one of
/// them is all zero or holds what is not finite.
double Cosine(std::span<const float> a, std::span<const float> b);

/// Returns the first index of the largest value.
uint32_t ArgMax(std::span<const float> logits);

/// Mean and standard error of a series, added up in order.
class RunningMean {
 public:
  void Add(double value);
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  [[nodiscard]] double standard_error() const;

 private:
  uint64_t count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

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
