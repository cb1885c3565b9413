// A baseline is an earlier evaluation of the same rows, as EvaluationToJson wrote it. It has one
// bit a row, so that two evaluations can be compared row by row: which fell or rose together says
// far more than two accuracies. How far such counts can be trusted is said by an interval around a
// share, and by whether two models that answered the same examples differ by more than chance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace sti {

/// Holds what an evaluation says of its rows.
struct Baseline {
  /// The names of what is read, in the JSON of an evaluation.
  static constexpr const char* kExamplesField = "examples";
  static constexpr const char* kRowsField = "rows_digest";
  static constexpr const char* kRightField = "correct_bits";

  Digest rows;              ///< of the texts and labels
  std::vector<bool> right;  ///< [rows]
};

/// Holds how an evaluation differs from its baseline.
struct Comparison {
  uint64_t right_before = 0;  ///< rows that were right
  uint64_t gained = 0;        ///< rows that became right
  uint64_t lost = 0;          ///< rows that became wrong
  double p_value = 1;         ///< of McNemar's exact test
};

/// Returns a hexadecimal digit for each four rows, the first row as the highest bit; bits beyond
/// the last row are 0.
std::string RightToHex(const std::vector<bool>& right);

/// Reads the JSON of an evaluation; other fields are skipped. DataError with the remedy
/// kGiveEvaluation, whose place the caller adds, for text that is none or says nothing of its rows.
Result<Baseline> ParseBaseline(std::string_view text);

/// Returns kForeign, whose place the caller adds, unless the baseline is of these rows.
Status CheckRows(const Baseline& baseline, const Digest& rows, uint64_t count);

/// Compares outcomes row by row; both have as many rows.
Comparison Compare(const Baseline& baseline, const std::vector<bool>& right);

/// Bounds of a share, both within [0, 1].
struct ShareInterval {
  double low = 0;
  double high = 1;
};

/// Returns the interval that holds the share behind `right` of `examples` with 95 % confidence
/// (Wilson's score interval, without correction for continuity). Without examples it is [0, 1].
ShareInterval WilsonInterval(uint64_t right, uint64_t examples);

/// Returns how probable it is that two models, equally good, differ at least as much as these do:
/// one alone was right on `gained` examples, the other alone on `lost` (McNemar's exact test, two-
/// sided). 1 if neither ever was.
double McNemarExact(uint64_t gained, uint64_t lost);

}  // namespace sti
