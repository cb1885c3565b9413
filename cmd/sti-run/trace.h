// Traces of runs, for Perfetto and for pictures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/session.h"
#include "base/result.h"
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

  std::unique_ptr<Events> events_;
};

}  // namespace sti
