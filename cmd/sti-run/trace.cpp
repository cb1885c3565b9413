#include "trace.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPauseUs = 1000;  // between runs, so that they can be told apart

Json Event(const std::string& name, int lane, double begin_us, double end_us) {
  return {{"name", name}, {"ph", "X"},      {"pid", 1},
          {"tid", lane},  {"ts", begin_us}, {"dur", std::max(0.0, end_us - begin_us)}};
}

Json LaneName(int lane, const char* name) {
  return {
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}};
}

}  // namespace

void TraceWriter::Add(const RunResult& run) { runs_.push_back(run); }

Status TraceWriter::Write(const std::string& path) const {
  constexpr int kIo = 1;
  constexpr int kCompute = 2;
  Json events = Json::array({LaneName(kIo, "IO"), LaneName(kCompute, "compute")});
  double origin = 0;
  for (const RunResult& run : runs_) {
    events.push_back(Event("embedding rows", kIo, origin, origin + run.embeddings_io_us));
    events.push_back(
        Event("embeddings", kCompute, origin + run.embeddings_io_us, origin + run.embeddings_us));
    double io_begin = run.embeddings_io_us;
    for (const LayerTrace& layer : run.layers) {
      std::string name = "layer " + std::to_string(layer.layer);
      events.push_back(Event(name, kIo, origin + io_begin, origin + layer.io_ready_us));
      events.push_back(Event(name, kCompute, origin + layer.start_us, origin + layer.end_us));
      io_begin = std::max(io_begin, layer.io_ready_us);
    }
    double last = run.layers.empty() ? run.embeddings_us : run.layers.back().end_us;
    events.push_back(Event("head", kCompute, origin + last, origin + run.latency_us));
    origin += run.latency_us + kPauseUs;
  }
  std::string text = Json{{"traceEvents", std::move(events)}}.dump();
  return WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace sti
