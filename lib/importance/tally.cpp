#include "importance/tally.h"

#include <algorithm>
#include <cmath>

namespace sti {
namespace {

constexpr double kUnitsPerNat = 4294967296.0;  // 2^32
constexpr double kMaxNats = 32768;

// Standard error of a mean from the sums of the values and of their squares.
double StandardError(uint64_t count, double sum, double squares) {
  if (count < 2) return 0;
  const auto n = static_cast<double>(count);
  const double mean = sum / n;
  return std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1));
}

Uint128 Square(int64_t number) {
  const auto wide = static_cast<Int128>(number);
  return static_cast<Uint128>(wide * wide);
}

double Sum(const Tally& tally, SpanSum sum) { return static_cast<double>(SumOf(tally, sum)); }

// Returns the sum of squares of what examples add to the F1 at first order, F = 2 C / D: an example
// with c and d adds (2 c - F d) / (D / n) / n, here without the last division.
double InfluenceSquares(const Tally& tally) {
  const double f = SpanF1(tally);
  const double mean = Sum(tally, SpanSum::kBoth) / static_cast<double>(tally.examples);
  return (4 * Sum(tally, SpanSum::kRightRight) - 4 * f * Sum(tally, SpanSum::kRightBoth) +
          f * f * Sum(tally, SpanSum::kBothBoth)) /
         (mean * mean);
}

// Returns the sum of products of what examples add to the F1 here and in the base.
double InfluenceProducts(const Tally& tally, const Tally& base) {
  const double f = SpanF1(tally);
  const double f_base = SpanF1(base);
  const auto n = static_cast<double>(tally.examples);
  const double means = Sum(tally, SpanSum::kBoth) / n * (Sum(base, SpanSum::kBoth) / n);
  return (4 * Sum(tally, SpanSum::kRightRightOld) -
          2 * f_base * Sum(tally, SpanSum::kRightBothOld) -
          2 * f * Sum(tally, SpanSum::kBothRightOld) +
          f * f_base * Sum(tally, SpanSum::kBothBothOld)) /
         means;
}

bool HasSpans(const Tally& tally) { return Sum(tally, SpanSum::kBoth) > 0; }

}  // namespace

std::optional<int64_t> LossUnits(double loss) {
  if (std::isnan(loss)) return std::nullopt;
  return std::llround(std::clamp(loss, -kMaxNats, kMaxNats) * kUnitsPerNat);
}

std::optional<int32_t> CosineUnits(double cosine) {
  if (std::isnan(cosine)) return std::nullopt;
  constexpr double kMost = 2 - 0x1p-30;
  return static_cast<int32_t>(std::lround(std::clamp(cosine, -kMost, kMost) * kCosineUnits));
}

void AddOutcome(Tally& tally, const Outcome& outcome, const Outcome& base) {
  ++tally.examples;
  if (outcome.right) ++tally.right;
  if (outcome.right && !base.right) ++tally.gained;
  if (!outcome.right && base.right) ++tally.lost;
  AddTo(tally.loss, static_cast<Uint128>(static_cast<Int128>(outcome.loss)));
  AddTo(tally.loss_squares, Square(outcome.loss));
  AddTo(tally.difference_squares, Square(outcome.loss - base.loss));
  if (outcome.cosine) tally.cosines.push_back(*outcome.cosine);
  const auto add = [&tally](SpanSum sum, uint64_t number) {
    tally.spans[static_cast<size_t>(sum)] += number;
  };
  const uint64_t right = outcome.spans.right;
  const uint64_t both = outcome.spans.both;
  add(SpanSum::kRight, right);
  add(SpanSum::kBoth, both);
  add(SpanSum::kRightRight, right * right);
  add(SpanSum::kRightBoth, right * both);
  add(SpanSum::kBothBoth, both * both);
  add(SpanSum::kRightRightOld, right * base.spans.right);
  add(SpanSum::kRightBothOld, right * base.spans.both);
  add(SpanSum::kBothRightOld, both * base.spans.right);
  add(SpanSum::kBothBothOld, both * base.spans.both);
}

void AddTally(Tally& tally, const Tally& other) {
  tally.examples += other.examples;
  tally.right += other.right;
  tally.gained += other.gained;
  tally.lost += other.lost;
  AddTo(tally.loss, ToUint128(other.loss));
  AddTo(tally.loss_squares, ToUint128(other.loss_squares));
  AddTo(tally.difference_squares, ToUint128(other.difference_squares));
  tally.cosines.insert(tally.cosines.end(), other.cosines.begin(), other.cosines.end());
  for (size_t sum = 0; sum < kSpanSums; ++sum) tally.spans[sum] += other.spans[sum];
}

double ShareRight(const Tally& tally) {
  if (tally.examples == 0) return 0;
  return static_cast<double>(tally.right) / static_cast<double>(tally.examples);
}

double MeanLoss(const Tally& tally) {
  if (tally.examples == 0) return 0;
  return SignedToDouble(tally.loss) / kUnitsPerNat / static_cast<double>(tally.examples);
}

double ShareRightError(const Tally& tally) {
  const auto right = static_cast<double>(tally.right);
  return StandardError(tally.examples, right, right);
}

double MeanLossError(const Tally& tally) {
  return StandardError(tally.examples, SignedToDouble(tally.loss) / kUnitsPerNat,
                       UnsignedToDouble(tally.loss_squares) / kUnitsPerNat / kUnitsPerNat);
}

double ShareRightChangeError(const Tally& tally) {
  const auto gained = static_cast<double>(tally.gained);
  const auto lost = static_cast<double>(tally.lost);
  return StandardError(tally.examples, gained - lost, gained + lost);
}

double LossChangeError(const Tally& tally, const Tally& base) {
  const Uint128 change = ToUint128(tally.loss) - ToUint128(base.loss);
  return StandardError(tally.examples, SignedToDouble(ToWide(change)) / kUnitsPerNat,
                       UnsignedToDouble(tally.difference_squares) / kUnitsPerNat / kUnitsPerNat);
}

double SpanF1(const Tally& tally) {
  return HasSpans(tally) ? 2 * Sum(tally, SpanSum::kRight) / Sum(tally, SpanSum::kBoth) : 1;
}

double SpanF1Error(const Tally& tally) {
  return HasSpans(tally) ? StandardError(tally.examples, 0, InfluenceSquares(tally)) : 0;
}

double SpanF1ChangeError(const Tally& tally, const Tally& base) {
  if (!HasSpans(tally) || !HasSpans(base)) return 0;
  const double squares =
      InfluenceSquares(tally) + InfluenceSquares(base) - 2 * InfluenceProducts(tally, base);
  return StandardError(tally.examples, 0, squares);
}

}  // namespace sti
