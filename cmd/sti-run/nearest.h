// The labels that --nearest gives to a model that embeds: read from a file, embedded unless they
// were before, and kept.
#pragma once

#include <cstddef>
#include <optional>

#include "api/label_source.h"
#include "api/session.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Holds what --nearest and --keep name. Options and tool outlive it. One thread at a time.
class Nearest {
 public:
  /// Reads the examples, and their vectors where --keep names a file that is there. Without
  /// --nearest it holds nothing.
  static Result<Nearest> Read(const RunOptions& options, const Tool& tool);

  /// Returns how many labels the examples have.
  [[nodiscard]] size_t labels() const { return source_ ? source_->labels() : 0; }
  /// Lets the session answer by the examples. They are embedded first unless they were before, and
  /// their vectors are written where --keep says. It holds nothing afterwards.
  [[nodiscard]] Status Teach(Session& session);

 private:
  Nearest(const RunOptions& options, const Tool& tool) : options_(&options), tool_(&tool) {}
  [[nodiscard]] Status Embed(Session& session);

  const RunOptions* options_;
  const Tool* tool_;
  std::optional<LabelSource> source_;
  std::string file_;  ///< that the vectors are from, or the examples
};

}  // namespace sti
