#include "evaluation.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/json.h"
#include "common/parse.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

std::string AccuracySentence(double accuracy, double least) {
  char line[96];
  std::snprintf(line, sizeof(line), "accuracy %.4f is below --min-accuracy %.4f", accuracy, least);
  return line;
}

}  // namespace

void Evaluation::Add(const Judgement& judged, const Answer& answer) {
  right += judged.right ? 1 : 0;
  deadline_misses += answer.deadline_met.value_or(true) ? 0 : 1;
  degraded_inputs += answer.run.degraded.empty() ? 0 : 1;
  loss.Add(judged.loss);
  bytes_read.Add(static_cast<double>(answer.run.bytes_read));
  latency_us.Add(answer.latency_us);
  stall_us.Add(answer.run.stall_us);
  over_bound.Add(answer.run.latency_us / PipelineBoundUs(answer.run));
}

double Evaluation::accuracy() const {
  return examples() == 0 ? 0 : static_cast<double>(right) / static_cast<double>(examples());
}

std::string EvaluationToJson(const Evaluation& e) {
  Json json;
  json["examples"] = e.examples();
  json["accuracy"] = e.accuracy();
  json["mean_loss"] = e.loss.mean();
  json["latency_us"] = {{"p50", e.latency_us.median()},
                        {"p95", e.latency_us.Quantile(0.95)},
                        {"p99", e.latency_us.p99()},
                        {"max", e.latency_us.Quantile(1.0)}};
  json["deadline_misses"] = e.deadline_misses;
  json["degraded_inputs"] = e.degraded_inputs;
  json["over_bound"] = {{"p50", e.over_bound.median()}, {"p99", e.over_bound.p99()}};
  json["stall_us"] = {{"p50", e.stall_us.median()}, {"p99", e.stall_us.p99()}};
  json["bytes_read_per_input"] = e.bytes_read.mean();
  json["preload_bytes"] = e.preload_bytes;
  json["peak_rss_bytes"] = e.peak_rss_bytes;
  json["target_us"] = OrNull(e.target_us);
  json["predicted_latency_us"] = OrNull(e.predicted_latency_us);
  json["predicted_p99_us"] = OrNull(e.predicted_p99_us);
  return json.dump();
}

void PrintEvaluation(const Evaluation& e) {
  std::printf("accuracy        %.2f %% of %s\n", e.accuracy() * 100,
              std::to_string(e.examples()).c_str());
  std::printf("mean loss       %.4f\n", e.loss.mean());
  std::printf("latency         median %s, p95 %s, p99 %s, max %s\n",
              FormatTimeUs(e.latency_us.median()).c_str(),
              FormatTimeUs(e.latency_us.Quantile(0.95)).c_str(),
              FormatTimeUs(e.latency_us.p99()).c_str(),
              FormatTimeUs(e.latency_us.Quantile(1.0)).c_str());
  if (e.predicted_latency_us) {
    std::printf("predicted       median %s, p99 %s\n",
                FormatTimeUs(*e.predicted_latency_us).c_str(),
                FormatTimeUs(*e.predicted_p99_us).c_str());
  }
  if (e.target_us) {
    std::printf("target          %s, missed %s times\n", FormatTimeUs(*e.target_us).c_str(),
                std::to_string(e.deadline_misses).c_str());
  }
  if (e.degraded_inputs > 0) {
    std::printf("degraded        %s inputs\n", std::to_string(e.degraded_inputs).c_str());
  }
  std::printf("stalled         median %s\n", FormatTimeUs(e.stall_us.median()).c_str());
  std::printf("read an input   %s\n",
              FormatBytes(static_cast<uint64_t>(e.bytes_read.mean())).c_str());
  std::printf("memory          peak %s, %s of it preloaded shards\n",
              FormatBytes(e.peak_rss_bytes).c_str(), FormatBytes(e.preload_bytes).c_str());
}

std::vector<std::string> FailedGates(const Evaluation& evaluation, const Gates& gates) {
  std::vector<std::string> failed;
  if (evaluation.examples() == 0) return failed;
  if (gates.min_accuracy && evaluation.accuracy() < *gates.min_accuracy) {
    failed.push_back(AccuracySentence(evaluation.accuracy(), *gates.min_accuracy));
  }
  const double p99_us = evaluation.latency_us.p99();
  if (gates.max_p99_us && p99_us > *gates.max_p99_us) {
    failed.push_back("p99 latency " + FormatTimeUs(p99_us) + " is above --max-p99 " +
                     FormatTimeUs(*gates.max_p99_us));
  }
  return failed;
}

}  // namespace sti
