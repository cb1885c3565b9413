#include "evaluate.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/process_memory.h"
#include "base/samples.h"
#include "common/files.h"
#include "common/parse.h"
#include "common/remedies.h"
#include "types/score.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  uint64_t right = 0;
  uint64_t misses = 0;
  RunningMean loss;
  RunningMean bytes;
  Samples latency;
  Samples stall;
  Samples over_bound;  // latency over the pipeline's bound
  uint64_t degraded = 0;
};

void Count(const Example& example, const Answer& answer, const Session& session, Totals& totals) {
  const Judgement judged =
      Judge(session.info().problem, answer.run.logits, *example.Truth(), session.threshold());
  totals.right += judged.right ? 1 : 0;
  totals.misses += answer.deadline_met.value_or(true) ? 0 : 1;
  totals.loss.Add(judged.loss);
  totals.bytes.Add(static_cast<double>(answer.run.bytes_read));
  totals.latency.Add(answer.latency_us);
  totals.stall.Add(answer.run.stall_us);
  totals.over_bound.Add(answer.run.latency_us / PipelineBoundUs(answer.run));
  totals.degraded += answer.run.degraded.empty() ? 0 : 1;
}

Json Summary(const Totals& totals, Session& session) {
  const Plan& plan = session.pipeline().plan();
  auto optional = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  auto examples = static_cast<double>(totals.latency.count());
  Json json;
  json["examples"] = totals.latency.count();
  json["accuracy"] = static_cast<double>(totals.right) / examples;
  json["mean_loss"] = totals.loss.mean();
  json["latency_us"] = {{"p50", totals.latency.median()},
                        {"p95", totals.latency.Quantile(0.95)},
                        {"p99", totals.latency.p99()},
                        {"max", totals.latency.Quantile(1.0)}};
  json["deadline_misses"] = totals.misses;
  json["degraded_inputs"] = totals.degraded;
  json["over_bound"] = {{"p50", totals.over_bound.median()}, {"p99", totals.over_bound.p99()}};
  json["stall_us"] = {{"p50", totals.stall.median()}, {"p99", totals.stall.p99()}};
  json["bytes_read_per_input"] = totals.bytes.mean();
  json["preload_bytes"] = session.pipeline().preload_bytes();
  json["peak_rss_bytes"] = PeakRssBytes();
  json["target_us"] = optional(plan.target_us);
  bool predicted = plan.predicted_latency_us > 0;
  json["predicted_latency_us"] = predicted ? Json(plan.predicted_latency_us) : Json(nullptr);
  json["predicted_p99_us"] = predicted ? Json(plan.predicted_p99_us) : Json(nullptr);
  return json;
}

void PrintSummary(const Json& json) {
  std::printf("accuracy        %.2f %% of %llu\n", json["accuracy"].get<double>() * 100,
              static_cast<unsigned long long>(json["examples"].get<uint64_t>()));
  std::printf("mean loss       %.4f\n", json["mean_loss"].get<double>());
  const Json& latency = json["latency_us"];
  std::printf("latency         median %s, p95 %s, p99 %s, max %s\n",
              FormatTimeUs(latency["p50"].get<double>()).c_str(),
              FormatTimeUs(latency["p95"].get<double>()).c_str(),
              FormatTimeUs(latency["p99"].get<double>()).c_str(),
              FormatTimeUs(latency["max"].get<double>()).c_str());
  if (!json["predicted_latency_us"].is_null()) {
    std::printf("predicted       median %s, p99 %s\n",
                FormatTimeUs(json["predicted_latency_us"].get<double>()).c_str(),
                FormatTimeUs(json["predicted_p99_us"].get<double>()).c_str());
  }
  if (!json["target_us"].is_null()) {
    std::printf("target          %s, missed %llu times\n",
                FormatTimeUs(json["target_us"].get<double>()).c_str(),
                static_cast<unsigned long long>(json["deadline_misses"].get<uint64_t>()));
  }
  if (json["degraded_inputs"].get<uint64_t>() > 0) {
    std::printf("degraded        %llu inputs\n",
                static_cast<unsigned long long>(json["degraded_inputs"].get<uint64_t>()));
  }
  std::printf("stalled         median %s\n",
              FormatTimeUs(json["stall_us"]["p50"].get<double>()).c_str());
  std::printf(
      "read an input   %s\n",
      FormatBytes(static_cast<uint64_t>(json["bytes_read_per_input"].get<double>())).c_str());
  std::printf("memory          peak %s, %s of it preloaded shards\n",
              FormatBytes(json["peak_rss_bytes"].get<uint64_t>()).c_str(),
              FormatBytes(json["preload_bytes"].get<uint64_t>()).c_str());
}

// Gates speak on stderr, so that stdout stays the summary.
int ApplyGates(const Json& json, const RunOptions& options) {
  int code = 0;
  if (options.min_accuracy && json["accuracy"].get<double>() < *options.min_accuracy) {
    std::fprintf(stderr, "sti-run: accuracy %.4f is below --min-accuracy %.4f\n",
                 json["accuracy"].get<double>(), *options.min_accuracy);
    code = ExitCode(ErrorKind::kInfeasible);
  }
  double p99_us = json["latency_us"]["p99"].get<double>();
  if (options.max_p99_us && p99_us > *options.max_p99_us) {
    std::fprintf(stderr, "sti-run: p99 latency %s is above --max-p99 %s\n",
                 FormatTimeUs(p99_us).c_str(), FormatTimeUs(*options.max_p99_us).c_str());
    code = ExitCode(ErrorKind::kInfeasible);
  }
  return code;
}

}  // namespace

Result<int> Evaluate(Session& session, const RunOptions& options, const Tool& tool) {
  STI_ASSIGN_OR_RETURN(std::vector<Example> examples,
                       ReadDataset(options.eval, session.pipeline().index(), true));
  ProgressSink progress = tool.Progress("evaluating");
  Totals totals;
  Answer answer;
  for (size_t i = 0; i < examples.size() && !StopRequested(); ++i) {
    if (options.turn_gap_us.value_or(0) == 0) STI_RETURN_IF_ERROR(session.EndEngagement());
    auto taken = Clock::now();
    STI_ASSIGN_OR_RETURN(Encoding encoding, session.Encode(examples[i].text, examples[i].pair));
    STI_RETURN_IF_ERROR(session.Ask(encoding, taken, &answer));
    Count(examples[i], answer, session, totals);
    if (progress) progress(i + 1, examples.size());
  }
  if (totals.latency.count() == 0) return 0;
  Json summary = Summary(totals, session);
  if (tool.json()) {
    std::printf("%s\n", summary.dump().c_str());
  } else {
    PrintSummary(summary);
  }
  int code = ApplyGates(summary, options);
  if (code == 0 && options.on_late == "fail" && totals.misses > 0) {
    return InfeasibleError(std::to_string(totals.misses) + " inputs missed the target");
  }
  return code;
}

}  // namespace sti
