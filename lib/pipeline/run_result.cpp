#include "pipeline/run_result.h"

#include <algorithm>

#include "schedule/load_schedule.h"

namespace sti {

double LayerIoUs(const RunReport& run, size_t k) {
  const LayerTrace& layer = run.layers[k];
  // A layer that reads nothing is ready from the start, whatever came before it.
  double before_us = run.embeddings_io_us;
  for (size_t j = 0; j < k; ++j) before_us = std::max(before_us, run.layers[j].io_ready_us);
  return std::max(0.0, layer.io_ready_us - std::max(layer.io_begin_us, before_us));
}

double PipelineBoundUs(const RunReport& run) {
  double compute_us = run.head_us;
  for (const LayerTrace& layer : run.layers) compute_us += layer.end_us - layer.start_us;
  double io_us = run.embeddings_io_us - run.embeddings_io_begin_us;
  double bound_us = io_us + (run.embeddings_us - run.embeddings_io_us) + compute_us;
  for (size_t k = 0; k < run.layers.size(); ++k) {
    io_us += LayerIoUs(run, k);
    bound_us = std::max(bound_us, io_us + compute_us);
    compute_us -= run.layers[k].end_us - run.layers[k].start_us;
  }
  return bound_us;
}

std::vector<AgentStop> StopsOf(const RunReport& run, const LoadSchedule& schedule,
                               uint32_t agents) {
  std::vector<AgentStop> stops;
  std::vector<double> free_us(agents, run.embeddings_io_begin_us);
  for (const ReadSpan& span : run.reads) {
    const ScheduledRead& read = schedule.reads[span.read];
    const uint32_t agent = read.group % agents;
    if (read.after > 0 && span.begin_us > free_us[agent])
      stops.push_back({agent, free_us[agent], span.begin_us});
    free_us[agent] = std::max(free_us[agent], span.end_us);
  }
  return stops;
}

std::vector<StagedChange> StagedChangesOf(const RunReport& run, const LoadSchedule& schedule) {
  std::vector<StagedChange> changes;
  changes.reserve(2 * run.reads.size());
  for (const ReadSpan& span : run.reads) {
    const ScheduledRead& read = schedule.reads[span.read];
    if (read.landing != Landing::kArena) continue;
    const auto bytes = static_cast<int64_t>(read.length);
    const bool of_layer = read.group < run.layers.size();
    changes.push_back({span.begin_us, bytes});
    changes.push_back({of_layer ? run.layers[read.group].end_us : run.latency_us, -bytes});
  }
  std::ranges::sort(changes, [](const StagedChange& a, const StagedChange& b) {
    return a.at_us != b.at_us ? a.at_us < b.at_us : a.bytes < b.bytes;
  });
  return changes;
}

AgentsReport ReportAgents(const RunReport& run, const LoadSchedule& schedule, uint32_t agents) {
  AgentsReport report;
  report.agents = agents;
  for (const AgentStop& stop : StopsOf(run, schedule, agents))
    report.stopped_us += stop.end_us - stop.begin_us;
  int64_t staged = 0;
  for (const StagedChange& change : StagedChangesOf(run, schedule)) {
    staged += change.bytes;
    report.staged_peak_bytes = std::max(report.staged_peak_bytes, static_cast<uint64_t>(staged));
  }
  return report;
}

}  // namespace sti
