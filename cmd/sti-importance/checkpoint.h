// A checkpoint is what an interrupted measurement leaves behind for --resume: an importance part
// beside the output.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/tool.h"
#include "types/importance_part.h"

namespace sti {

/// Keeps OUT.resume while OUT is being made. Does nothing for stdout.
class Checkpoint {
 public:
  Checkpoint(const Tool& tool, const std::string& output);

  [[nodiscard]] const std::string& name() const { return from_; }

  /// Returns what an earlier run has done: its progress, or the part itself if that was finished.
  /// None if there is neither.
  Result<std::optional<ImportancePart>> Load();
  /// Returns what an interrupted run has done, where that is there. Warns of progress that is
  /// damaged.
  std::optional<ImportancePart> LoadProgress();
  /// Warns that an earlier run's progress will be replaced, and why.
  void Replace(Error why) const;

  /// Writes now and then: so often that a twentieth of the work can be lost, at most ten times a
  /// second and at least every second; and at once if `stopping`, when it says to a person at a
  /// terminal how to go on. A disk that takes nothing costs the progress, not the measurement.
  void Save(const ImportancePart& part, bool stopping);

  /// Removes the progress, once the output is there.
  void Remove();

 private:
  using Clock = std::chrono::steady_clock;
  void TellProgress(const ImportancePart& part) const;
  void RemoveTemporaries() const;

  const Tool& tool_;
  std::string output_;
  std::string path_;  // empty: kept nowhere
  std::string from_;  // the file that Load has read
  Clock::time_point begin_ = Clock::now();
  Clock::time_point saved_ = begin_;
  bool warned_ = false;
};

}  // namespace sti
