#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sti {

/// log softmax of row [labels] at `label`, negated: the cross-entropy of one example, in nats.
double CrossEntropy(std::span<const float> logits, uint32_t label);

/// KL divergence of softmax(logits) from softmax(reference), in nats.
double KlDivergence(std::span<const float> reference, std::span<const float> logits);

/// The first index of the largest value.
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

}  // namespace sti
