#include "watch.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/atomic_file.h"
#include "base/log.h"
#include "base/utf8.h"
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
    worst_late_us = std::max(worst_late_us, answer.late_by_us());
  }
  if (!answer.degraded().empty()) ++degraded;
  if (const std::optional<GivenUp> fallback = answer.fallback()) {
    ++fallbacks;
    failed += fallback->reads_failed ? 1 : 0;
    rows_missing += fallback->rows_missing;
  }
  if (answer.window_count() > 1) {
    ++split;
    windows += answer.window_count();
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
  add(mishaps.split, "read in " + std::to_string(mishaps.windows) + " windows");
  return summary;
}

void Watch::TellFirst(const Mishaps& before, const Answer& answer, const Session& session) const {
  const std::string input = options_.Prefix() + "input " + std::to_string(mishaps_.inputs);
  if (before.late == 0 && mishaps_.late == 1) {
    const double late_us = *answer.target_us + answer.late_by_us();
    tool_.Warn(input + (answer.window_count() > 1 ? " has a window that is late: " : " is late: ") +
               FormatTimeUs(late_us) + " of " + FormatTimeUs(*answer.target_us) +
               "; --stats shows where the time goes");
  }
  if (before.degraded == 0 && mishaps_.degraded == 1) {
    tool_.Warn(input + " has " + Counted(answer.degraded().size(), "shard") +
               " at fewer bits than planned, whose reads were late");
  }
  if (before.fallbacks == 0 && mishaps_.fallbacks == 1) {
    tool_.Warn(input + " is answered by the fallback, as reads " +
               (mishaps_.failed > 0 ? "failed" : "were late") + ", with " +
               Counted(mishaps_.rows_missing, "word") + " unknown");
  }
  if (before.truncated == 0 && mishaps_.truncated == 1) {
    tool_.Warn(input + " is truncated to " +
               (answer.windows ? std::to_string(answer.tokens) + " tokens"
                               : std::to_string(session.status().max_length) +
                                     " tokens; plan with a longer --length"));
  }
}

void Watch::See(const Answer& answer, const Session& session) {
  const Mishaps before = mishaps_;
  mishaps_.Add(answer);
  TellFirst(before, answer, session);
  if (options_.stats) {
    for (const std::string& line : DescribeRun(answer)) tool_.Say(options_.Prefix() + line);
  }
  if (!options_.trace.empty()) trace_.Add(answer, (*session.status().schedule));
}

Status Watch::Finish() {
  if (!options_.trace.empty()) STI_RETURN_IF_ERROR(trace_.Write(options_.trace));
  const std::string summary = Summary(mishaps_);
  if (mishaps_.inputs > 1 && !summary.empty()) tool_.Say(options_.Prefix() + summary);
  return {};
}

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPause_us = 1000;  // between runs, so that they can be told apart
enum Lane { kIo = 1, kDecode = 2, kCompute = 3, kFirstAgent = 10 };

Json LaneName(int lane, const std::string& name) {
  return {
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}};
}

std::string LayerName(uint32_t layer) { return "layer " + std::to_string(layer); }

/// The bits that each part of a read completes, of those too that it brings a piece of, by shard:
/// {"3": [2, 3, 4]}.
Json PartsOf(const LoadSchedule& schedule, const ScheduledRead& read) {
  std::map<uint32_t, std::vector<uint32_t>> bits;
  for (const ScheduledPart& part : schedule.PartsOf(read)) {
    if (!part.kind) continue;
    bits[schedule.requests[part.request].id.slice].push_back(BitsOf(*part.kind));
  }
  Json slices = Json::object();
  for (const auto& [slice, parts] : bits) slices["slice " + std::to_string(slice)] = parts;
  return slices;
}

std::string ReadName(const LoadSchedule& schedule, const ScheduledRead& read) {
  const ScheduledPart& part = schedule.parts[read.first_part];
  if (part.kind) {
    return LayerName(schedule.requests[part.request].id.layer) +
           (read.refinement ? " refinement" : "");
  }
  return part.layer ? LayerName(*part.layer) + " parameters" : "head parameters";
}

/// The bits that each slice of a layer ran at; 0: left out.
Json BitsOf(const RunResult& run, const LoadSchedule& schedule, uint32_t layer) {
  Json bits = Json::object();
  for (const ShardRequest& shard : schedule.requests) {
    if (shard.id.layer == layer) bits["slice " + std::to_string(shard.id.slice)] = shard.bits;
  }
  for (const DegradedShard& shard : run.degraded) {
    if (shard.id.layer == layer) bits["slice " + std::to_string(shard.id.slice)] = shard.bits;
  }
  return bits;
}

}  // namespace

struct TraceWriter::Events {
  Json list = Json::array({LaneName(kIo, "IO"), LaneName(kDecode, "decode (within compute)"),
                           LaneName(kCompute, "compute")});
  double origin_us = 0;  ///< of the run at hand
  double end_us = 0;
  uint32_t level = 0;   ///< of the cascade that the run at hand is, from 1; 0: there is none
  uint32_t window = 0;  ///< of its text that the run at hand is, from 1; 0: it is of the whole

  void Add(const std::string& name, int lane, double begin_us, double until_us,
           Json args = Json::object()) {
    if (level > 0) args["cascade_level"] = level;
    if (window > 0) args["window"] = window;
    list.push_back({{"name", name},
                    {"ph", "X"},
                    {"pid", 1},
                    {"tid", lane},
                    {"ts", origin_us + begin_us},
                    {"dur", std::max(0.0, until_us - begin_us)},
                    {"args", std::move(args)}});
    end_us = std::max(end_us, origin_us + until_us);
  }

  /// Adds a moment of a lane.
  void AddSignal(const std::string& name, int lane, double at_us) {
    list.push_back({{"name", name},
                    {"ph", "i"},
                    {"s", "t"},
                    {"pid", 1},
                    {"tid", lane},
                    {"ts", origin_us + at_us}});
  }

  /// Adds what the counter of staged bytes has from a moment on.
  void AddStaged(double at_us, int64_t bytes) {
    list.push_back({{"name", "staged bytes"},
                    {"ph", "C"},
                    {"pid", 1},
                    {"ts", origin_us + at_us},
                    {"args", {{"bytes", bytes}}}});
  }

  /// Names the lanes of so many agents, those that have no name yet.
  void NameAgents(uint32_t wanted) {
    for (; agents < wanted; ++agents) {
      list.push_back(
          LaneName(kFirstAgent + static_cast<int>(agents), "agent " + std::to_string(agents)));
    }
  }
  uint32_t agents = 0;  ///< whose lanes have names
};

TraceWriter::TraceWriter() : events_(std::make_unique<Events>()) {}
TraceWriter::~TraceWriter() = default;

void TraceWriter::Add(const Answer& answer, const LoadSchedule& schedule) {
  Events& events = *events_;
  const RunResult& run = answer.run;
  const bool has_windows = answer.windows && !answer.windows->before.empty();
  const bool has_levels = answer.cascade && !answer.cascade->before().empty();
  const RunResult& first = has_windows  ? answer.windows->before[0].run
                           : has_levels ? answer.cascade->before()[0].run
                                        : run;
  // Reads of a run that was woken begin before it.
  double first_us = first.embeddings_io_begin_us;
  for (const ReadSpan& span : first.reads) first_us = std::min(first_us, span.begin_us);
  events.origin_us = events.end_us - first_us + (events.end_us > 0 ? kPause_us : 0);
  const double begin_us = events.origin_us;
  events.level = events.window = 0;
  if (has_windows) {
    for (const WindowRun& window : answer.windows->before) {
      ++events.window;
      events.origin_us = begin_us + window.began_us;
      AddRun(window.run, *window.schedule);
    }
    ++events.window;
    events.origin_us = begin_us + answer.windows->began_us;
  }
  if (!answer.cascade) return AddRun(run, schedule);
  for (const CascadeLevelRun& level : answer.cascade->before()) {
    ++events.level;
    events.origin_us = begin_us + level.began_us;
    AddRun(level.run, *level.schedule);
  }
  ++events.level;
  events.origin_us = begin_us + answer.cascade->began_us;
  AddRun(run, schedule);
}

void TraceWriter::AddRun(const RunResult& run, const LoadSchedule& schedule) {
  Events& events = *events_;
  if (run.agents) {
    AddAgents(run, schedule);
  } else {
    AddReads(run, schedule);
  }
  events.Add("embeddings", kCompute, run.embeddings_begin_us, run.embeddings_us);
  for (const LayerTrace& layer : run.layers) {
    const Json bits = BitsOf(run, schedule, layer.layer);
    events.Add(LayerName(layer.layer), kDecode, layer.start_us, layer.start_us + layer.decode_us,
               {{"bits", bits}});
    events.Add(LayerName(layer.layer), kCompute, layer.start_us, layer.end_us, {{"bits", bits}});
  }
  events.Add("head", kCompute, run.latency_us - run.head_us, run.latency_us);
}

// Each agent has a lane, with its reads and its stops. A layer whose last read has come is ready to
// be computed, and one that is computed may be overwritten: the signals of Hermes.
void TraceWriter::AddAgents(const RunResult& run, const LoadSchedule& schedule) {
  Events& events = *events_;
  const uint32_t agents = run.agents->agents;
  const auto lane_of = [](uint32_t agent) { return kFirstAgent + static_cast<int>(agent); };
  events.NameAgents(agents);
  events.Add("embedding rows", kIo, run.embeddings_io_begin_us, run.embeddings_io_us);
  for (const ReadSpan& span : run.reads) {
    const ScheduledRead& read = schedule.reads[span.read];
    events.Add(ReadName(schedule, read), lane_of(read.group % agents), span.begin_us, span.end_us,
               {{"bytes", read.length}, {"parts", PartsOf(schedule, read)}});
  }
  for (const AgentStop& stop : StopsOf(run, schedule, agents))
    events.Add("stop", lane_of(stop.agent), stop.begin_us, stop.end_us);
  for (uint32_t k = 0; k < run.layers.size(); ++k) {
    const LayerTrace& layer = run.layers[k];
    events.AddSignal("comp " + LayerName(layer.layer), lane_of(k % agents), layer.io_ready_us);
    events.AddSignal("dest " + LayerName(layer.layer), kCompute, layer.end_us);
  }
  int64_t staged = 0;
  for (const StagedChange& change : StagedChangesOf(run, schedule))
    events.AddStaged(change.at_us, staged += change.bytes);
}

// Several reads are in flight, a lane shows one: each from when it was begun or the one before it
// was there, whichever is later.
void TraceWriter::AddReads(const RunResult& run, const LoadSchedule& schedule) {
  constexpr uint32_t kRows = UINT32_MAX;
  std::vector<ReadSpan> spans = run.reads;
  spans.push_back({run.embeddings_io_begin_us, run.embeddings_io_us, kRows});
  std::sort(spans.begin(), spans.end(),
            [](const ReadSpan& a, const ReadSpan& b) { return a.end_us < b.end_us; });
  double lane_us = spans.front().begin_us;
  // Rows are many reads with one end: shards that overtook the last of them leave the first alone.
  if (run.embeddings_io_begin_us < lane_us)
    events_->Add("embedding rows", kIo, run.embeddings_io_begin_us, lane_us);
  for (const ReadSpan& span : spans) {
    const double begin_us = std::max(span.begin_us, lane_us);
    lane_us = span.end_us;
    Json args = {{"in_flight_us", span.end_us - span.begin_us}};
    if (span.read == kRows) {
      events_->Add("embedding rows", kIo, begin_us, span.end_us, std::move(args));
      continue;
    }
    const ScheduledRead& read = schedule.reads[span.read];
    args["bytes"] = read.length;
    args["parts"] = PartsOf(schedule, read);
    events_->Add(ReadName(schedule, read), kIo, begin_us, span.end_us, std::move(args));
  }
}

Status TraceWriter::Write(const std::string& path) const {
  const std::string text = Json{{"traceEvents", events_->list}}.dump();
  return WriteFileAtomically(path, AsBytes(text));
}

}  // namespace sti
