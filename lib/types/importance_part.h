// An importance part is what a measurement of importance has added up, of the whole work or of a
// share of it (spec/importance-part.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "types/importance.h"
#include "types/word_use.h"

namespace sti {

/// A signed or unsigned whole number of 128 bits, two's complement.
struct WideNumber {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const WideNumber&, const WideNumber&) = default;
};

/// The whole number that stands for a cosine of 1 in Tally::cosines.
inline constexpr int32_t kCosineUnits = 1 << 30;

/// The sums over examples of which the F1 of spans and its standard error are made, of a model that
/// labels tokens. An example has c spans that are right, those that are true and were given, and d
/// of both kinds together: true ones and given ones. c' and d' are those of the base.
enum class SpanSum : uint8_t {
  kRight,          ///< sum of c
  kBoth,           ///< sum of d
  kRightRight,     ///< sum of c c
  kRightBoth,      ///< sum of c d
  kBothBoth,       ///< sum of d d
  kRightRightOld,  ///< sum of c c'
  kRightBothOld,   ///< sum of c d'
  kBothRightOld,   ///< sum of d c'
  kBothBothOld,    ///< sum of d d'
};
inline constexpr size_t kSpanSums = 9;
using SpanSums = std::array<uint64_t, kSpanSums>;  ///< by SpanSum

/// Counts how examples fared in one cell: the baseline, a shard raised to some bits, a submodel.
/// All are whole numbers, so that the sum does not depend on how work is divided into parts. Losses
/// count in 2^-32 nat. "Base" is the same example with every shard at its fewest bits.
struct Tally {
  uint64_t examples = 0;
  uint64_t right = 0;
  uint64_t gained = 0;            ///< right, and wrong in the base
  uint64_t lost = 0;              ///< wrong, and right in the base
  WideNumber loss;                ///< sum, signed
  WideNumber loss_squares;        ///< sum of squares
  WideNumber difference_squares;  ///< sum of squares of the loss less the base's
  /// By Metric::kSpearman: the cosine of each example's two vectors, in their order, in
  /// 1 / kCosineUnits. Else empty. Ranks add up to nothing that could be kept instead.
  std::vector<int32_t> cosines = {};
  SpanSums spans = {};  ///< of a model that labels tokens; else zeros
  friend bool operator==(const Tally&, const Tally&) = default;
};

/// One (n, m, bits) of the submodels that are measured.
struct SubmodelCell {
  uint32_t depth = 0;
  uint32_t width = 0;
  uint32_t bits = 0;
  friend bool operator==(const SubmodelCell&, const SubmodelCell&) = default;
};

/// The job that is measured: parts that differ in it do not belong together.
struct ImportanceJob {
  Digest model;
  Digest data;  ///< Importance::data
  Metric metric = Metric::kAccuracy;
  std::string kernel;     ///< arithmetic
  uint32_t layers = 0;    ///< N
  uint32_t width = 0;     ///< M
  bool of_spans = false;  ///< the model labels tokens, so that tallies count spans
  bool gains = false;     ///< whether gains were asked for, rather than the most bits alone
  uint64_t examples = 0;
  uint64_t units = 0;                   ///< the whole work list
  uint32_t base_bits = 0;               ///< the fewest that the container has
  std::vector<uint32_t> raised_bits;    ///< ascending; the last is the most
  std::vector<SubmodelCell> submodels;  ///< in the order of their tallies; may be empty
  WordUse word_use;                     ///< Importance::word_use
  std::vector<double> scores;           ///< [examples] of pairs, by Metric::kSpearman; else empty
  friend bool operator==(const ImportanceJob&, const ImportanceJob&) = default;
};

/// Units [begin, end) of a work list, done; a finished part has end == due.
struct ImportancePart {
  ImportanceJob job;
  uint32_t part = 1;  ///< 1 to parts
  uint32_t parts = 1;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t due = 0;
  /// [1 + layers * width * raised_bits + submodels]: the baseline, shards row-major with their bits
  /// ascending, submodels.
  std::vector<Tally> tallies;
};

/// Returns one of the sums of a tally's spans.
inline uint64_t SumOf(const Tally& tally, SpanSum sum) {
  return tally.spans[static_cast<size_t>(sum)];
}

/// Returns the number of tallies of a job. Sizes are trusted: whoever reads a part bounds them.
inline uint64_t CellsOf(const ImportanceJob& job) {
  return 1 + uint64_t{job.layers} * job.width * job.raised_bits.size() + job.submodels.size();
}

}  // namespace sti
