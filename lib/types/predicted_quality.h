// The predicted quality of a plan, of a turn of it, or of its fallback.
#pragma once

#include <optional>

namespace sti {

/// Holds the quality that a plan is expected to have; nothing where it was not measured.
struct PredictedQuality {
  std::optional<double> loss;  ///< mean over examples, in the importance file's measure
  std::optional<double> accuracy;
  /// Share of inputs that get the label which the full model gives them: all that is known where
  /// the importance was measured by kl, without labels.
  std::optional<double> agreement;
};

}  // namespace sti
