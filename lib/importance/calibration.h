// The calibration of a submodel as a cascade level: the temperature that makes softmax(logits / τ)
// a confidence one can count on (Tabi 4.1), and how far it is one.
//
// A temperature is judged on examples that it was not fitted to: each half of the examples, every
// other one, is judged with the one that fits the other half best.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sti {

/// Returns the half that an example belongs to, 0 or 1.
constexpr size_t HalfOf(size_t example) { return example % 2; }

/// Logits of examples that have one label each. Not owning.
struct LabelledLogits {
  std::span<const float> logits;     ///< [examples, labels], all finite
  std::span<const uint32_t> truths;  ///< [examples]
  [[nodiscard]] size_t labels() const { return logits.size() / truths.size(); }
  [[nodiscard]] std::span<const float> Of(size_t example) const {
    return logits.subspan(example * labels(), labels());
  }
};

/// How well a level is calibrated.
struct Calibration {
  double temperature = 1;                   ///< τ that fits all examples; 1 unless it helps
  std::array<double, 2> for_half = {1, 1};  ///< τ for each half, fitted to the other; 1 likewise
  double nll = 0;                           ///< mean negative log-likelihood in nats, with τ = 1
  double calibrated_nll = 0;                ///< with for_half
  double ece = 0;                           ///< expected calibration error of 15 bins, with τ = 1
  double calibrated_ece = 0;                ///< with for_half
};

/// Fits and judges temperatures. There is at least one example. A temperature helps if the
/// negative log-likelihood of examples that it was not fitted to falls.
Calibration Calibrate(const LabelledLogits& examples);

}  // namespace sti
