// The words of sti-run to people, on stderr, while it answers. A watch sees every answer of a run,
// whether its inputs are lines, arguments or a data set, and tells what JSON tells machines: inputs
// that were late, degraded or truncated. Notices of a session are told beside. A trace has all
// runs, for Perfetto and for pictures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/notice.h"
#include "api/session.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"
#include "schedule/load_schedule.h"

namespace sti {

/// Collects runs and writes them as Chrome trace events, which Perfetto opens: a lane for reads,
/// one for decoding, one for computation, each slice with its shards and their bits. Decoding is
/// fused with the products and spread over a layer; its slice is as long as all of it together.
/// Slices of a cascade name their level.
class TraceWriter {
 public:
  TraceWriter();
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// `schedule` is what the run read by, of a cascade that of the level that answered.
  void Add(const Answer& answer, const LoadSchedule& schedule);
  [[nodiscard]] Status Write(const std::string& path) const;

 private:
  struct Events;
  void AddRun(const RunResult& run, const LoadSchedule& schedule);
  void AddReads(const RunResult& run, const LoadSchedule& schedule);
  void AddAgents(const RunResult& run, const LoadSchedule& schedule);

  std::unique_ptr<Events> events_;
};

/// Says a session's notice in a sentence that begins with `prefix`: a warning, a line, or one with
/// -v, as it matters.
void Tell(const Notice& notice, const Tool& tool, const std::string& prefix = "");

/// Counts what befell the inputs of a run.
struct Mishaps {
  uint64_t inputs = 0;        ///< those without an answer too
  uint64_t late = 0;          ///< answers after the target
  double worst_late_us = 0;   ///< most that an answer came after its target
  uint64_t degraded = 0;      ///< answers of which some shard had fewer bits than planned
  uint64_t fallbacks = 0;     ///< answers of the fallback, since reads were late or failed
  uint64_t failed = 0;        ///< of them those of which a read failed
  uint64_t rows_missing = 0;  ///< words that counted as unknown, since their rows had not come
  uint64_t truncated = 0;     ///< inputs longer than the plan's length
  uint64_t split = 0;         ///< answers of several windows
  uint64_t windows = 0;       ///< of those

  void Add(const Answer& answer);
};

/// Returns "3 of 200 inputs late, worst by 4 ms; 2 degraded"; empty if nothing happened.
std::string Summary(const Mishaps& mishaps);

/// Prints to stderr the times of each answer if asked for, and without --json each kind of mishap
/// when it first happens, and a summary; collects the trace if one is asked for. Each line begins
/// with the model's name if it is one of several.
class Watch {
 public:
  Watch(const RunOptions& options, const Tool& tool) : options_(options), tool_(tool) {}

  /// Takes the answer that `session` has just given.
  void See(const Answer& answer, const Session& session);
  /// Counts an input that could not be used.
  void Skip() { ++mishaps_.inputs; }
  /// Writes the trace and says the summary.
  [[nodiscard]] Status Finish();

  [[nodiscard]] const Mishaps& mishaps() const { return mishaps_; }

 private:
  void TellFirst(const Mishaps& before, const Answer& answer, const Session& session) const;

  const RunOptions& options_;
  const Tool& tool_;
  TraceWriter trace_;
  Mishaps mishaps_;
};

}  // namespace sti
