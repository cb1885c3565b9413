// Where the label vectors of a session come from: from labelled examples, each of which is embedded
// once, or from a file that keeps what came of that.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/session.h"
#include "base/log.h"
#include "base/result.h"
#include "text/dataset.h"
#include "types/label_vectors.h"

namespace sti {

/// Holds examples that are to be embedded, or the vectors that were made of some.
struct LabelSource {
  LabelledRows rows;  ///< without examples where a file of vectors was given alone
  std::optional<LabelVectors> vectors;

  /// Returns how many labels there are.
  [[nodiscard]] size_t labels() const {
    return vectors ? vectors->labels.size() : rows.labels.size();
  }
};

/// Reads a file of label vectors, or else a data set by ParseLabelledRows. `name` is the file's,
/// for messages.
Result<LabelSource> ParseLabelSource(std::string_view content, const std::string& name,
                                     const ColumnChoice& columns, const LogSink& log);

/// Lets the vectors in the file `kept`, called `name`, stand for the examples of `source`, so that
/// none is embedded again. kForeign if they are of other examples, or the file holds no vectors.
Status TakeKept(std::string_view kept, const std::string& name, LabelSource* source);

/// Returns the label vectors of examples as a session embeds them, which answers by none yet.
/// Afterwards its next input is turn 1. DataError that names an example, from 1, which is no input
/// of the model or whose embedding is all zeros, and as LabelMeans::Finish; kForeign for a model
/// that gives labels, or examples of one label alone; kCancelled once `cancelled` says so. It may
/// be empty, as `progress` may.
Result<LabelVectors> EmbedExamples(Session& session, const LabelledRows& rows,
                                   const ProgressSink& progress, const CancelCheck& cancelled);

}  // namespace sti
