#include "api/window_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "model/head.h"
#include "text/windows.h"

namespace sti {
namespace {

/// Adds to a report a run that is not the last.
void AddBefore(const RunResult& run, WindowsReport* report) {
  report->bytes_read += run.bytes_read;
  report->stall_us += run.stall_us;
  report->run_us += run.latency_us;
  report->bound_us += PipelineBoundUs(run);
  report->degraded.insert(report->degraded.end(), run.degraded.begin(), run.degraded.end());
  report->fallback = BothGivenUp(report->fallback, run.fallback);
}

/// Adds to a report how long a window took.
void AddLatency(double latency_us, std::optional<double> target_us, WindowsReport* report) {
  report->slowest_us = std::max(report->slowest_us, latency_us);
  if (!target_us || latency_us <= *target_us) return;
  ++report->late;
  report->late_by_us = std::max(report->late_by_us, latency_us - *target_us);
}

}  // namespace

uint64_t MostTextBytes(const ModelInfo& info, const WindowSizes& sizes) {
  constexpr uint64_t kTokenBytes = 2 * sizeof(Piece) + 20;  // in lists that grow, and encoded
  constexpr uint64_t kLabelBytes = 4 * sizeof(float);       // logits that grow, and probabilities
  const uint64_t labels = info.labels_tokens() ? info.shape.labels : 0;
  // Between words two windows go on by a stride together, or by more.
  const uint64_t windows = 2 * uint64_t{kMostTextTokens} / sizes.stride + 1;
  return kMostTextTokens * (kTokenBytes + labels * kLabelBytes) + windows * 2 * sizeof(TextWindow);
}

std::optional<GivenUp> BothGivenUp(const std::optional<GivenUp>& before,
                                   const std::optional<GivenUp>& last) {
  if (!before || !last) return last ? last : before;
  return GivenUp{.layers_before = last->layers_before,
                 .reads_failed = before->reads_failed || last->reads_failed,
                 .rows_missing = before->rows_missing + last->rows_missing};
}

WindowReader::WindowReader(const WindowSizes& sizes, bool keeps_runs, const ModelInfo& info)
    : sizes_(sizes), keeps_runs_(keeps_runs), info_(info), join_(MakeWindowJoin(info)) {}

Status WindowReader::Check(const Plan& plan) const {
  if (plan.cascade) {
    return UsageError(
               "the plan has a cascade, which returns one input as soon as it is sure of it, and "
               "of a text in windows nothing is known before the last")
        .Fix(Remedy::kPlanAgain);
  }
  STI_RETURN_IF_ERROR(CheckWindowSizes(sizes_, info_.tokenizer.control_tokens(false)));
  if (sizes_.tokens <= plan.length) return {};
  return UsageError("a window of " + std::to_string(sizes_.tokens) +
                    " tokens is longer than the plan's inputs, which have up to " +
                    std::to_string(plan.length) + "; take one of at most that");
}

Status WindowReader::Read(const Encoding& text, Clock::time_point taken, RunWindow run,
                          ScheduleOfRun schedule, Answer* answer) {
  auto split = SplitIntoWindows(text, sizes_);
  if (!split.ok()) return Error(split.error()).In(Source::kInput);
  std::vector<TextWindow>& windows = *split;
  if (FirstWindowCounts(info_) && windows.size() > 1) {
    windows.resize(1);
    answer->truncated = true;
  }
  const bool several = windows.size() > 1;
  WindowsReport& report = answer->windows.emplace();
  report.windows = static_cast<uint32_t>(windows.size());
  if (several) join_->Begin();
  Clock::time_point began = taken;
  for (const TextWindow& window : windows) {
    if (&window != &windows.front()) {
      AddBefore(answer->run, &report);
      if (keeps_runs_) report.before.push_back({answer->run, schedule(), report.began_us});
      began = Clock::now();
      report.began_us = MicrosecondsBetween(taken, began);
    }
    EncodeWindow(text, window, &window_);
    STI_RETURN_IF_ERROR(run(window_, began, several && join_->wants_rows()));
    if (several) join_->Add(window, answer->run.values);
    AddLatency(MicrosecondsBetween(began, Clock::now()), answer->target_us, &report);
  }
  if (!several) {
    answer->tokens = static_cast<uint32_t>(window_.ids.size());
    return {};
  }
  join_->Finish(&answer->run.values);
  return CheckHeadValues(info_, answer->run.values);
}

}  // namespace sti
