// The columns of a data file say by their names which cell of a row is the text, which its pair and
// which the label or the score. The names of GLUE's sets are known. A file with other names would
// lose a text without a word, so a column that looks like a text and is not read is an error,
// unless the caller names the columns. A label is written as one of the model's names or as its id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/dataset.h"
#include "text/dataset/rows.h"

namespace sti {

/// Says which cells of a row are read, by their indexes.
struct Columns {
  size_t text = 0;
  std::optional<size_t> pair;
  std::optional<size_t> label;
  /// Columns that nothing reads though nobody said so: none of them may hold text.
  std::vector<size_t> unread;
};

/// The column of what is true of a row.
enum class TruthColumn : uint8_t {
  kLabel,         ///< a label, which has to be there
  kLabelIfThere,  ///< a label, or none
  kScore,         ///< the score of a pair; both have to be there
};

/// Returns the columns of a file whose columns, or an object whose keys, have `names`, some of them
/// as `chosen` says. DataError, whose place the caller adds, if there is no text, if a column that
/// is read or chosen is not there or is there twice, if a known column of text is left over, or if
/// there is no label, score or pair where `truth` wants one.
Result<Columns> FindColumns(std::span<const std::string> names, const ColumnChoice& chosen,
                            TruthColumn truth);

/// Returns the columns of a table without a header, of `count` columns, which `chosen` numbers from
/// 1. DataError, whose place the caller adds, if it has not as many, or if no label, score or pair
/// is chosen where `truth` wants one.
Result<Columns> NumberedColumns(size_t count, const ColumnChoice& chosen, TruthColumn truth);

/// Returns the score in a cell. DataError, whose place the caller adds, for what is no finite
/// number.
Result<double> ScoreOf(const Cell& cell);

/// Returns whether a cell looks like a text, and not like a number, a name or an id: it has two
/// words, or a run of letters beyond ASCII that may be several words of a script without blanks.
bool LooksLikeText(std::string_view cell);

/// Returns the error that a column which looks like text would be left out.
Error LeftOut(std::string_view name);

/// Turns labels as they are written into ids.
class LabelReader {
 public:
  /// `labels` are the model's, and outlive the reader.
  LabelReader(const std::vector<std::string>& labels, Problem problem);

  /// Reads the label or the set of labels in `cell` into `example`. DataError, whose place the
  /// caller adds, for no label, one that is not the model's, or what is neither a name nor an id.
  [[nodiscard]] Status Read(const Cell& cell, Example* example) const;

 private:
  [[nodiscard]] Result<uint32_t> Find(std::string_view label) const;
  [[nodiscard]] Status ReadSet(std::string_view text, std::vector<uint32_t>* ids) const;
  [[nodiscard]] Status AddTo(std::string_view label, std::vector<uint32_t>* ids) const;
  [[nodiscard]] std::string Known() const;
  [[nodiscard]] bool YesOrNo() const { return several_ && labels_.size() == 1; }

  const std::vector<std::string>& labels_;
  bool several_;  // an example may have any number of labels
  std::unordered_map<std::string_view, uint32_t> ids_;
};

/// Collects the labels of a file whose labels nobody knows before it is read.
class LabelFinder {
 public:
  /// Reads the label in `cell` into `example`, by the number of its first row among those of other
  /// labels. DataError, whose place the caller adds, as ParseLabelledRows.
  [[nodiscard]] Status Read(const Cell& cell, Example* example);
  /// Returns the names, ascending, and gives the examples that were read their numbers among them.
  std::vector<std::string> Finish(std::span<Example> examples) const;

 private:
  std::map<std::string, uint32_t, std::less<>> found_;
};

}  // namespace sti
