// A baseline is an earlier evaluation of the same rows, as EvaluationToJson wrote it. It has one
// bit a row, so that two evaluations can be compared row by row: which fell or rose together says
// far more than two accuracies.
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

}  // namespace sti
