#include "print.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/files.h"
#include "common/parse.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

// Invalid UTF-8 in an input becomes U+FFFD here as it did for the model.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json ScoresOf(const Answer& answer, const ModelInfo& info, uint32_t top) {
  std::vector<uint32_t> order(answer.scores.size());
  std::iota(order.begin(), order.end(), 0U);
  if (top != 0) {
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return answer.scores[a] > answer.scores[b]; });
    order.resize(std::min<size_t>(order.size(), top));
  }
  Json scores = Json::object();
  for (uint32_t label : order) scores[info.labels[label]] = answer.scores[label];
  return scores;
}

}  // namespace

void PrintJson(const RunOptions& options, const std::string& text, const Answer& answer,
               uint64_t turn, const ModelInfo& info) {
  Json json;
  json["text"] = text;
  json["label"] = info.labels[answer.label];
  json["label_id"] = answer.label;
  if (info.problem == Problem::kMultiLabel) {
    json["labels"] = Json::array();
    for (uint32_t label : answer.labels) json["labels"].push_back(info.labels[label]);
  }
  json["scores"] = ScoresOf(answer, info, options.top);
  json["logits"] = answer.run.logits;
  json["tokens"] = answer.tokens;
  json["truncated"] = answer.truncated;
  json["latency_us"] = answer.latency_us;
  json["deadline_met"] = answer.deadline_met ? Json(*answer.deadline_met) : Json(nullptr);
  json["degraded"] = Json::array();
  json["turn"] = turn;
  json["stall_us"] = answer.run.stall_us;
  json["bytes_read"] = answer.run.bytes_read;
  std::printf("%s\n", Dump(json).c_str());
}

void PrintPlain(const std::string& text, const Answer& answer, const ModelInfo& info) {
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');  // an input is a line, also from an argument
  std::string said = info.labels[answer.label];
  if (info.problem == Problem::kMultiLabel) {
    said.clear();
    for (uint32_t label : answer.labels) said += (said.empty() ? "" : ",") + info.labels[label];
    if (answer.labels.empty()) said = "-";
  }
  std::printf("%s\t%.4f\t%s%s\n", said.c_str(), double{answer.scores[answer.label]}, line.c_str(),
              answer.truncated ? " [truncated]" : "");
}

void PrintUnusable(bool json, const std::string& text, const Error& error) {
  if (!json) {
    std::printf("! %s\n", error.message.c_str());
    return;
  }
  Json line;
  line["error"] = error.message;
  line["text"] = text;
  std::printf("%s\n", Dump(line).c_str());
}

std::string DescribeRun(const Answer& answer) {
  const Plan& plan = *answer.plan;
  std::string line = FormatTimeUs(answer.latency_us);
  if (plan.target_us) {
    line += " of " + FormatTimeUs(*plan.target_us);
    line += *answer.deadline_met ? "" : " (late)";
  }
  if (plan.predicted_latency_us > 0) {
    line += ", predicted " + FormatTimeUs(plan.predicted_latency_us);
  }
  line += ", stalled " + FormatTimeUs(answer.run.stall_us);
  line += ", read " + FormatBytes(answer.run.bytes_read);
  line += ", peak memory " + FormatBytes(PeakRssBytes());
  return line;
}

}  // namespace sti
