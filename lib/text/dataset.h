// Labelled text, or pairs of texts with scores, as people have it: a table with tabs (as GLUE's), a
// table with commas, or JSON Lines. The folder dataset/ has a file for each step: rows of a
// spelling, columns, labels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/log.h"
#include "base/result.h"
#include "types/byte_range.h"
#include "types/model_info.h"
#include "types/tag_scheme.h"

namespace sti {

/// Words of a text with their tags, as models that label tokens are asked for.
struct TaggedWords {
  std::vector<ByteRange> words;  ///< where each stands in the text, one behind another
  std::vector<Tag> tags;         ///< as many as words; kinds are by number of the model's
};

/// One row of a data file, or one text of a file of tagged words.
struct Example {
  std::string text;
  std::optional<std::string> pair;
  std::optional<uint32_t> label;  ///< index into the model's labels
  /// For a multi-label model instead of `label`: all that apply, ascending; there may be none.
  std::optional<std::vector<uint32_t>> labels = std::nullopt;
  /// How alike text and pair are, by people's judgement; a greater number is more alike.
  std::optional<double> score = std::nullopt;
  std::optional<TaggedWords> tagged = std::nullopt;

  /// Returns the labels of the example, one way or the other; nothing if it is not labelled.
  [[nodiscard]] std::optional<std::vector<uint32_t>> Truth() const {
    if (label) return std::vector<uint32_t>{*label};
    return labels;
  }
};

inline constexpr uint64_t kMaxDatasetLineBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxDatasetRows = uint64_t{1} << 24;

/// The columns that the caller chooses, by name, or by number from 1 if the file is a table that
/// has no header. One that is empty is looked for by the names that are known.
struct ColumnChoice {
  std::string text;
  std::string pair;  ///< none if it is empty and `text` is not
  std::string label;

  /// Returns whether the columns are numbered, which the text's says.
  [[nodiscard]] bool numbered() const;
};

/// Returns kUsage for a choice that makes no sense: a pair without a text, a column twice, names
/// and numbers together, or a label's number without the text's.
Status CheckColumnChoice(const ColumnChoice& chosen);

/// Says what a data file is read for.
struct DatasetRequest {
  std::vector<std::string> labels = {};  ///< the model's
  Problem problem = Problem::kSingleLabel;
  bool labels_required = true;
  ColumnChoice columns = {};
  LogSink log = {};  ///< receives a warning about the first line that is not UTF-8
  /// Whether each row is a pair of texts with a score, in the place of a label (STS).
  bool scores = false;
};

/// Reads the whole content of a data file; `name` is the file's name for messages.
///
/// Content that begins with `{` or `[` (after white space) is JSON Lines, anything else a table
/// (dataset/rows.h), and so is all where columns are numbered. A table's first line names the
/// columns unless they are numbered. dataset/columns.h has the names of columns and keys that are
/// known. Lines end with LF or CRLF, and a line without anything is skipped.
///
/// For a multi-label model, a label holds all labels that apply, with commas between them, or is a
/// list in JSON; "-" or an empty list says that none does. A name that has a comma itself needs a
/// list, or to stand alone.
///
/// Where `scores` are asked for, each row needs a pair and a finite number in its label's column.
///
/// A label is looked up as a name first, then as an id. Without `labels_required` it may be
/// missing, empty or unknown, and the example is then unlabelled. DataError with file and line for
/// a broken line, columns that cannot be told, a label that is required, an empty set, or more than
/// the limits; kUsage as CheckColumnChoice. Pure and thread-safe.
Result<std::vector<Example>> ParseDataset(std::string_view content, const std::string& name,
                                          const DatasetRequest& request);

/// Labelled rows, and the labels that they have.
struct LabelledRows {
  std::vector<std::string> labels;  ///< names, ascending by their bytes
  std::vector<Example> examples;    ///< each with a label, by its index in `labels`
};

/// Reads a data file as ParseDataset does, for a task whose labels are those that occur in it: a
/// label's name is what stands there, a number too. DataError also for a name that is not printable
/// or has a blank at an end, and for more than 65536 names.
Result<LabelledRows> ParseLabelledRows(std::string_view content, const std::string& name,
                                       const ColumnChoice& columns, const LogSink& log);

/// Returns the digest of the texts, pairs and labels or scores of the examples, in their order;
/// `labels` are the model's. Models that differ, but know the labels by the same names, have it in
/// common.
Digest DigestOfRows(std::span<const Example> examples, std::span<const std::string> labels);

}  // namespace sti
