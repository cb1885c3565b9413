// Outcomes of single examples and what they add up to.
#pragma once

#include <cstdint>
#include <optional>

#include "types/importance_part.h"

namespace sti {

/// How one example fared.
struct Outcome {
  bool right = false;
  int64_t loss = 0;  ///< in 2^-32 nat
};

/// A loss in nats as a whole number of 2^-32 nat, at most 32768 nats either way; none if it is not
/// a number.
std::optional<int64_t> LossUnits(double loss);

/// Adds one example; `base` is how it fared with every shard at its fewest bits. At most 2^31
/// examples.
void AddOutcome(Tally& tally, const Outcome& outcome, const Outcome& base);

/// Adds what another part has counted.
void AddTally(Tally& tally, const Tally& other);

double ShareRight(const Tally& tally);
double MeanLoss(const Tally& tally);  ///< nats
/// Standard error of either mean; 0 for fewer than two examples.
double ShareRightError(const Tally& tally);
double MeanLossError(const Tally& tally);
/// Standard error of either mean less the base's, each example its own control.
double GainError(const Tally& tally);
double LossChangeError(const Tally& tally, const Tally& base);

}  // namespace sti
