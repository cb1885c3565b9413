#include "watch.h"

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "common/parse.h"
#include "print.h"

namespace sti {

void Tell(const Notice& notice, const Tool& tool, const std::string& prefix) {
  switch (notice.kind) {
    case Notice::Kind::kLeadTime:
      return tool.Say(
          prefix + "the plan counts on " + FormatTimeUs(notice.time_us) +
          " of lead time before each text, which lines do not give; they will take longer");
    case Notice::Kind::kPlannedAgain:
    case Notice::Kind::kOtherVariants:
      return tool.Say(prefix + LineFor(notice).what);
    default:
      break;
  }
  LogLine line = LineFor(notice);
  line.what = prefix + line.what;
  tool.Log(line);
}

void Mishaps::Add(const Answer& answer) {
  ++inputs;
  if (answer.late()) {
    ++late;
    worst_late_us = std::max(worst_late_us, answer.latency_us - *answer.target_us);
  }
  if (!answer.run.degraded.empty()) ++degraded;
  if (answer.run.fallback) {
    ++fallbacks;
    failed += answer.run.fallback->reads_failed ? 1 : 0;
    rows_missing += answer.run.fallback->rows_missing;
  }
  if (answer.truncated) ++truncated;
}

std::string Summary(const Mishaps& mishaps) {
  std::string summary;
  const auto add = [&](uint64_t count, const std::string& text) {
    if (count == 0) return;
    summary += summary.empty() ? std::to_string(count) + " of " + std::to_string(mishaps.inputs) +
                                     (mishaps.inputs == 1 ? " input " : " inputs ")
                               : "; " + std::to_string(count) + " ";
    summary += text;
  };
  add(mishaps.late, "late, worst by " + FormatTimeUs(mishaps.worst_late_us));
  add(mishaps.degraded, "degraded");
  std::string fallback = "answered by the fallback";
  if (mishaps.failed > 0) fallback += ", " + std::to_string(mishaps.failed) + " as reads failed";
  if (mishaps.rows_missing > 0)
    fallback += ", with " + std::to_string(mishaps.rows_missing) + " unknown words in all";
  add(mishaps.fallbacks, fallback);
  add(mishaps.truncated, "truncated");
  return summary;
}

void Watch::TellFirst(const Mishaps& before, const Answer& answer, const Session& session) const {
  const std::string input = options_.Prefix() + "input " + std::to_string(mishaps_.inputs);
  if (before.late == 0 && mishaps_.late == 1) {
    tool_.Warn(input + " is late: " + FormatTimeUs(answer.latency_us) + " of " +
               FormatTimeUs(*answer.target_us) + "; --stats shows where the time goes");
  }
  if (before.degraded == 0 && mishaps_.degraded == 1) {
    tool_.Warn(input + " has " + Counted(answer.run.degraded.size(), "shard") +
               " at fewer bits than planned, whose reads were late");
  }
  if (before.fallbacks == 0 && mishaps_.fallbacks == 1) {
    tool_.Warn(input + " is answered by the fallback, as reads " +
               (mishaps_.failed > 0 ? "failed" : "were late") + ", with " +
               Counted(mishaps_.rows_missing, "word") + " unknown");
  }
  if (before.truncated == 0 && mishaps_.truncated == 1) {
    tool_.Warn(input + " is truncated to " + std::to_string(session.pipeline().max_length()) +
               " tokens; plan with a longer --length");
  }
}

void Watch::See(const Answer& answer, const Session& session) {
  const Mishaps before = mishaps_;
  mishaps_.Add(answer);
  TellFirst(before, answer, session);
  if (options_.stats) {
    for (const std::string& line : DescribeRun(answer)) tool_.Say(options_.Prefix() + line);
  }
  if (!options_.trace.empty()) trace_.Add(answer, session.pipeline().last_schedule());
}

Status Watch::Finish() {
  if (!options_.trace.empty()) STI_RETURN_IF_ERROR(trace_.Write(options_.trace));
  const std::string summary = Summary(mishaps_);
  if (mishaps_.inputs > 1 && !summary.empty()) tool_.Say(options_.Prefix() + summary);
  return {};
}

}  // namespace sti
