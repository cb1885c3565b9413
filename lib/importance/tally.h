// A tally adds up the outcomes of single examples, in whole numbers, so that the sums are exact
// whatever the order and the grouping.
#pragma once

#include <cstdint>
#include <optional>

#include "types/importance_part.h"

namespace sti {

/// The spans of one example, of a model that labels tokens.
struct SpanCount {
  uint32_t right = 0;  ///< that are true and were given
  uint32_t both = 0;   ///< true ones and given ones, added up
};

/// How one example fared. Under kKl the full model's own answer stands in for the truth. A text
/// whose tokens are labelled is right if all its spans are. A model that embeds is never right; its
/// loss is one less the cosine that the metric asks for.
struct Outcome {
  bool right = false;
  int64_t loss = 0;                    ///< in 2^-32 nat
  std::optional<int32_t> cosine = {};  ///< for Tally::cosines; nothing where these are not kept
  SpanCount spans = {};                ///< for Tally::spans
};

/// Returns a loss in nats as a whole number of 2^-32 nat, clamped to 32768 nats either way; nothing
/// if it is not a number.
std::optional<int64_t> LossUnits(double loss);

/// Returns a cosine, or an estimate of one, as a whole number for Tally::cosines, clamped to what
/// that holds; nothing if it is not a number.
std::optional<int32_t> CosineUnits(double cosine);

/// Adds one example to the tally of a cell, which holds at most 2^31; `base` is how it fared with
/// every shard at its fewest bits.
void AddOutcome(Tally& tally, const Outcome& outcome, const Outcome& base);

/// Adds the tally of the same cell over other examples, those that come next.
void AddTally(Tally& tally, const Tally& other);

/// Returns the share of examples that are right, 0 to 1, and the mean loss in nats; 0 without any.
double ShareRight(const Tally& tally);
double MeanLoss(const Tally& tally);
/// Each of these returns the standard error of one of these means; 0 for fewer than two examples.
double ShareRightError(const Tally& tally);
double MeanLossError(const Tally& tally);
/// Each of these returns the standard error of the mean difference, example by example, between the
/// tally's outcomes and the base's: in the share that is right, and in the loss in nats. `base` is
/// the tally of the base, over the same examples.
double ShareRightChangeError(const Tally& tally);
double LossChangeError(const Tally& tally, const Tally& base);

/// Returns the F1 of all spans, 0 to 1; 1 where there are none at all.
double SpanF1(const Tally& tally);
/// Each of these returns a standard error, by what each example adds to the F1 at first order: that
/// of the F1, and that of its difference to the base's, each example its own control. `base` is the
/// tally of the base, over the same examples. 0 for fewer than two examples.
double SpanF1Error(const Tally& tally);
double SpanF1ChangeError(const Tally& tally, const Tally& base);

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

/// Returns `number`, read as two's complement.
inline double SignedToDouble(const WideNumber& number) {
  return static_cast<double>(static_cast<Int128>(ToUint128(number)));
}
inline double UnsignedToDouble(const WideNumber& number) {
  return static_cast<double>(ToUint128(number));
}

}  // namespace sti
