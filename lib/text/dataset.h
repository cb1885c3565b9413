// Labelled text as people have it: tab-separated with a header (as GLUE), or JSON Lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// One line of a data file.
struct Example {
  std::string text;
  std::optional<std::string> pair;
  std::optional<uint32_t> label;  ///< index into the model's labels
  /// For a multi-label model instead of `label`: all that apply, ascending; there may be none.
  std::optional<std::vector<uint32_t>> labels = std::nullopt;

  /// Returns the labels of the example, one way or the other; nothing if it is not labelled.
  [[nodiscard]] std::optional<std::vector<uint32_t>> Truth() const {
    if (label) return std::vector<uint32_t>{*label};
    return labels;
  }
};

inline constexpr uint64_t kMaxDatasetLineBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxDatasetRows = uint64_t{1} << 24;

/// Reads the whole content of a data file; `name` is the file's name for messages.
///
/// Content that begins with `{` (after white space) is JSON Lines: one object a line with `text`,
/// `sentence`, or `sentence1` and `sentence2` (`text` may come with `pair`), and `label` as a
/// string or a number. Empty lines are skipped. Anything else is tab-separated: the first line
/// names the columns `sentence` (or `text`), or `sentence1` and `sentence2` (or `text` and
/// `pair`), and `label`; other columns are ignored. There is no quoting: a tab always separates.
/// Lines end with LF or CRLF.
///
/// For a multi-label `problem`, `label` holds all labels that apply, with commas between them, or
/// is a list in JSON; "-" or an empty list says that none does. A name that has a comma itself
/// needs a list, or to stand alone.
///
/// A label is looked up as a name first, then as an id. Without `labels_required` it may be
/// missing, empty or unknown, and the example is then unlabelled. DataError with file and line for
/// a broken line, a label that is required, an empty set, or more than the limits above. Pure and
/// thread-safe.
Result<std::vector<Example>> ParseDataset(std::string_view content, const std::string& name,
                                          const std::vector<std::string>& labels,
                                          bool labels_required,
                                          Problem problem = Problem::kSingleLabel);

}  // namespace sti
