// A reader takes a text through its windows: each is a run with a target of its own, and one answer
// is made of all. A session has one where it reads in windows.
#pragma once

#include <memory>

#include "api/session.h"
#include "api/window_join.h"
#include "base/clock.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "text/tokenizer.h"
#include "types/model_info.h"
#include "types/plan.h"
#include "types/text_window.h"

namespace sti {

/// Reads texts in windows. One thread at a time.
class WindowReader {
 public:
  /// Runs one window, of which latency counts from `taken`. `rows`: hidden rows are wanted, not
  /// what the head makes of them. Answer has its run, plan and target.
  using RunWindow = FunctionRef<Status(const Encoding& window, Clock::time_point taken, bool rows)>;
  /// Returns what the run that has ended was read by.
  using ScheduleOfRun = FunctionRef<std::shared_ptr<const LoadSchedule>()>;

  /// `keeps_runs`: as SessionOptions::keeps_window_runs. `info` outlives it.
  WindowReader(const WindowSizes& sizes, bool keeps_runs, const ModelInfo& info);

  /// Returns kUsage if texts cannot be read so under the plan.
  [[nodiscard]] Status Check(const Plan& plan) const;
  /// Reads a text, which has been taken at that moment: the answer's run has then what the head
  /// gives of the whole, and its `windows` are there. An error of Source::kInput is the text's own.
  [[nodiscard]] Status Read(const Encoding& text, Clock::time_point taken, RunWindow run,
                            ScheduleOfRun schedule, Answer* answer);

 private:
  const WindowSizes sizes_;
  const bool keeps_runs_;
  const ModelInfo& info_;
  std::unique_ptr<WindowJoin> join_;
  Encoding window_;  ///< the one at hand; its memory is used again
};

/// Returns the most bytes of memory that a text takes, beside the model's own, while it is split
/// and read in windows: its tokens, windows and, of a model that labels them, labels.
uint64_t MostTextBytes(const ModelInfo& info, const WindowSizes& sizes);

/// Returns how one or both of two runs gave up, if any did.
std::optional<GivenUp> BothGivenUp(const std::optional<GivenUp>& before,
                                   const std::optional<GivenUp>& last);

}  // namespace sti
