// Samples of times, and the figures of them that plans and reports are about.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace sti {

/// Times of one thing, in microseconds.
class Samples {
 public:
  void Add(double value) { values_.push_back(value); }
  /// Returns the values in the order in which they were added.
  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  /// Returns the value that was added last; 0 when empty.
  [[nodiscard]] double Last() const { return values_.empty() ? 0 : values_.back(); }
  [[nodiscard]] size_t count() const { return values_.size(); }

  /// Returns a quantile by nearest rank, the smallest value that a share `q` of all does not
  /// exceed; 0 when empty.
  [[nodiscard]] double Quantile(double q) const {
    if (values_.empty()) return 0;
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
    return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
  }
  [[nodiscard]] double median() const { return Quantile(0.5); }
  [[nodiscard]] double p99() const { return Quantile(0.99); }

 private:
  std::vector<double> values_;
};

}  // namespace sti
