// The metrics that importance is measured by, and the outcomes of single examples with what they
// add up to: sums of whole numbers, which are exact whatever the order and the grouping.
#pragma once

#include <cstdint>
#include <optional>

#include "types/importance_part.h"

namespace sti {

enum class Metric : uint8_t { kAccuracy, kLoss, kKl };
const char* MetricName(Metric metric);

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

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

inline Uint128 ToUint128(const WideNumber& number) {
  return Uint128{number.high} << 64 | number.low;
}

inline WideNumber ToWide(Uint128 number) {
  return {static_cast<uint64_t>(number), static_cast<uint64_t>(number >> 64)};
}

/// Adds modulo 2^128.
inline void AddTo(WideNumber& sum, Uint128 number) { sum = ToWide(ToUint128(sum) + number); }

/// `number` as two's complement.
inline double SignedToDouble(const WideNumber& number) {
  return static_cast<double>(static_cast<Int128>(ToUint128(number)));
}
inline double UnsignedToDouble(const WideNumber& number) {
  return static_cast<double>(ToUint128(number));
}

}  // namespace sti
