#include "print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "common/lines.h"
#include "common/parse.h"
#include "common/plan_text.h"
#include "common/remedies.h"
#include "pictures/svg.h"

namespace sti {
namespace {

// Returns the measure by its name; shards x bits has one for people and one for machines.
const char* NameOf(SweepQuality quality, const char* shard_bits) {
  switch (quality) {
    case SweepQuality::kAccuracy:
      return "accuracy";
    case SweepQuality::kF1:
      return "f1";
    case SweepQuality::kAgreement:
      return "agreement";
    case SweepQuality::kCosine:
      return "cosine";
    case SweepQuality::kSpearman:
      return "spearman";
    case SweepQuality::kShardBits:
      return shard_bits;
  }
  return shard_bits;
}

std::string QualityText(const SweepGrid& grid, const SweepCell& cell) {
  switch (grid.quality) {
    case SweepQuality::kAccuracy:
    case SweepQuality::kF1:
    case SweepQuality::kAgreement:
      return Format("%.1f %%", 100 * cell.quality);
    case SweepQuality::kCosine:
    case SweepQuality::kSpearman:
      return Format("%.4f", cell.quality);
    case SweepQuality::kShardBits:
      return Format("%.0f", cell.quality);
  }
  return "";
}

// Adds what is predicted besides loss and accuracy, where it is: an importance measures one of
// them.
void AddOthers(const PredictedQuality& quality, nlohmann::ordered_json* json) {
  if (quality.agreement) (*json)["predicted_agreement"] = *quality.agreement;
  if (quality.cosine) (*json)["predicted_cosine"] = *quality.cosine;
  if (quality.spearman) (*json)["predicted_spearman"] = *quality.spearman;
  if (quality.f1) (*json)["predicted_f1"] = *quality.f1;
}

}  // namespace

std::string SweepText(const SweepGrid& grid) {
  std::string text = Format("%9s  %9s  %7s  %5s  %9s  %9s  %9s  %s\n", "target", "preload", "plan",
                            "bits", "latency", "peak", NameOf(grid.quality, "quality"), "front");
  bool none = false;
  for (const SweepCell& cell : grid.cells) {
    text += Format("%9s  %9s  ", FormatTimeUs(cell.target_us).c_str(),
                   FormatBytes(cell.preload_bytes).c_str());
    if (!cell.plan) {
      text += Format("%7s\n", "none");
      none = true;
      continue;
    }
    text += Format("%7s  %5.2f  %9s  %9s  %9s%s\n", NameOf(SubmodelOf(*cell.plan)).c_str(),
                   cell.mean_bits, FormatTimeUs(cell.plan->predicted_latency_us).c_str(),
                   FormatBytes(cell.plan->predicted_peak_bytes).c_str(),
                   QualityText(grid, cell).c_str(), cell.on_front ? "  *" : "");
  }
  text += "* no other plan is as good, as fast and as small\n";
  if (grid.quality == SweepQuality::kShardBits) {
    text += Format("quality is shards x mean bits; sti-importance --submodels would give %s\n",
                   grid.embeds ? "cosines" : "accuracy");
  }
  if (none) {
    const auto first = std::find_if(grid.cells.begin(), grid.cells.end(),
                                    [](const SweepCell& cell) { return !cell.plan; });
    const std::string& what = first->problem->what;
    const size_t colon = what.find(": ");
    const std::string why = colon == std::string::npos ? what : what.substr(colon + 2);
    text += "none: " + why.substr(0, why.find(';')) + "\n";
  }
  return text;
}

std::string SweepJson(const SweepGrid& grid) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["quality"] = NameOf(grid.quality, "shard_bits");
  json["rows"] = Json::array();
  for (const SweepCell& cell : grid.cells) {
    Json row;
    row["target_us"] = cell.target_us;
    row["preload_bytes"] = cell.preload_bytes;
    row["feasible"] = cell.plan.has_value();
    row["problem"] = cell.problem ? Json(LineFor(*cell.problem)) : Json(nullptr);
    if (cell.plan) {
      const Plan& plan = *cell.plan;
      row["layers"] = plan.layers;
      row["width"] = plan.width;
      row["mean_bits"] = cell.mean_bits;
      row["predicted_latency_us"] = plan.predicted_latency_us;
      row["predicted_p99_us"] = plan.predicted_p99_us;
      row["predicted_peak_bytes"] = plan.predicted_peak_bytes;
      row["predicted_accuracy"] =
          plan.quality.accuracy ? Json(*plan.quality.accuracy) : Json(nullptr);
      AddOthers(plan.quality, &row);
      row["predicted_loss"] = plan.quality.loss ? Json(*plan.quality.loss) : Json(nullptr);
      row["parameter_bytes"] = plan.parameter_bytes;
      row["quality"] = cell.quality;
      row["on_front"] = cell.on_front;
    }
    json["rows"].push_back(std::move(row));
  }
  return JsonLine(json) + "\n";
}

std::string MemoriesText(const std::vector<MemoryCell>& cells) {
  std::string text =
      Format("%9s  %6s  %9s  %9s  %9s\n", "memory", "agents", "latency", "peak", "staging");
  std::string why;
  for (const MemoryCell& cell : cells) {
    text += Format("%9s  ", FormatBytes(cell.memory_bytes).c_str());
    if (!cell.plan) {
      text += Format("%6s\n", "none");
      if (why.empty()) why = LineFor(*cell.problem);
      continue;
    }
    text += Format("%6u  %9s  %9s  %9s\n", cell.plan->agents,
                   FormatTimeUs(cell.plan->predicted_latency_us).c_str(),
                   FormatBytes(cell.plan->predicted_peak_bytes).c_str(),
                   FormatBytes(cell.plan->staging_bytes.value_or(0)).c_str());
  }
  return why.empty() ? text : text + "none: " + why + "\n";
}

std::string MemoriesJson(const std::vector<MemoryCell>& cells) {
  nlohmann::ordered_json json;
  json["rows"] = nlohmann::ordered_json::array();
  for (const MemoryCell& cell : cells) {
    nlohmann::ordered_json& row = json["rows"].emplace_back();
    row["memory_bytes"] = cell.memory_bytes;
    row["feasible"] = cell.plan.has_value();
    row["problem"] =
        cell.problem ? nlohmann::ordered_json(LineFor(*cell.problem)) : nlohmann::ordered_json();
    if (!cell.plan) continue;
    row["agents"] = cell.plan->agents;
    row["predicted_latency_us"] = cell.plan->predicted_latency_us;
    row["predicted_p99_us"] = cell.plan->predicted_p99_us;
    row["predicted_peak_bytes"] = cell.plan->predicted_peak_bytes;
    row["staging_bytes"] = cell.plan->staging_bytes.value_or(0);
  }
  return JsonLine(json) + "\n";
}

namespace {

using Json = nlohmann::ordered_json;

// Returns the figures as one object. A turn shares the memory of its plan and says what it reads.
Json ToJson(const Verdict& verdict, bool is_turn = false) {
  Json json;
  json["valid"] = verdict.valid;
  json["problem"] = verdict.problem.empty() ? Json(nullptr) : Json(verdict.problem);
  json["aib_us"] = verdict.aib_us;
  json["slack_us"] = OrNull(verdict.slack_us);
  json["predicted_latency_us"] = verdict.latency_us;
  json["predicted_p99_us"] = verdict.p99_us;
  if (!is_turn) json["predicted_peak_bytes"] = verdict.peak_bytes;
  if (!is_turn) json["staging_bytes"] = verdict.staging_bytes;
  json["predicted_loss"] = OrNull(verdict.quality.loss);
  json["predicted_accuracy"] = OrNull(verdict.quality.accuracy);
  AddOthers(verdict.quality, &json);
  json["preload_bytes"] = verdict.preload_bytes;
  if (verdict.fallback_bytes != 0) json["fallback_bytes"] = verdict.fallback_bytes;
  json[is_turn ? "read_bytes" : "parameter_bytes"] = verdict.parameter_bytes;
  return json;
}

void PrintVerdict(const std::string& name, const Verdict& verdict) {
  std::printf("%s: latency %s predicted, p99 %s, %s\n", name.c_str(),
              FormatTimeUs(verdict.latency_us).c_str(), FormatTimeUs(verdict.p99_us).c_str(),
              verdict.valid ? "valid" : "not valid");
}

}  // namespace

std::string VerdictsToJson(const Verdicts& verdicts, bool uncertain) {
  Json json = ToJson(verdicts.plan);
  json["uncertain"] = uncertain;
  json["variants"] = Json::array();
  for (const Verdict& verdict : verdicts.variants) json["variants"].push_back(ToJson(verdict));
  json["turns"] = Json::array();
  for (const Verdict& verdict : verdicts.turns) json["turns"].push_back(ToJson(verdict, true));
  if (verdicts.cascade) {
    const CascadeFigures& it = *verdicts.cascade;
    json["cascade"] = {{"valid", it.problem.empty()},
                       {"problem", it.problem.empty() ? Json(nullptr) : Json(it.problem)},
                       {"path_us", it.path_us},
                       {"mean_us", it.mean_us},
                       {"worst_path_us", it.worst_path_us},
                       {"upgrade_bytes", it.upgrade_bytes},
                       {"predicted_peak_bytes", it.peak_bytes}};
  }
  return JsonLine(json);
}

void PrintVerdicts(const Verdicts& verdicts, const Plan& plan, bool uncertain) {
  for (size_t k = 0; k < verdicts.plan.aib_us.size(); ++k)
    std::printf("AIB(%zu) = %.1f us left\n", k, verdicts.plan.aib_us[k]);
  for (size_t i = 0; i < verdicts.variants.size(); ++i) {
    PrintVerdict("variant of up to " + Counted(plan.variants[i].length, "token"),
                 verdicts.variants[i]);
  }
  for (size_t i = 0; i < verdicts.turns.size(); ++i)
    PrintVerdict("turn " + std::to_string(i + 1), verdicts.turns[i]);
  if (verdicts.cascade) {
    std::printf("cascade: mean %s predicted, p99 %s through all levels, %s\n",
                FormatTimeUs(verdicts.cascade->mean_us).c_str(),
                FormatTimeUs(verdicts.cascade->worst_path_us).c_str(),
                verdicts.cascade->problem.empty() ? "valid" : "not valid");
  }
  std::printf("latency %s predicted, p99 %s\n", FormatTimeUs(verdicts.plan.latency_us).c_str(),
              FormatTimeUs(verdicts.plan.p99_us).c_str());
  const std::string quality = QualityText(verdicts.plan.quality);
  if (!quality.empty()) std::printf("quality %s predicted\n", quality.c_str());
  std::printf("%s%s\n", verdicts.problem().empty() ? "valid" : "not valid",
              uncertain ? ", uncertain" : "");
}

std::string StageVerdictsToJson(const StageVerdicts& verdicts) {
  nlohmann::ordered_json json;
  json["valid"] = verdicts.problem.empty();
  json["problem"] = verdicts.problem;
  json["microbatch"] = verdicts.staged.microbatch;
  json["period_us"] = verdicts.staged.period_us;
  json["throughput_per_s"] = verdicts.staged.throughput_per_s;
  json["stages"] = nlohmann::ordered_json::array();
  for (const PlanStage& stage : verdicts.staged.stages) {
    json["stages"].push_back({{"device", stage.device},
                              {"begin", stage.begin},
                              {"end", stage.end},
                              {"preload_bytes", stage.preload_bytes},
                              {"staging_bytes", stage.staging_bytes},
                              {"predicted_peak_bytes", stage.predicted_peak_bytes},
                              {"period_us", stage.period_us},
                              {"pass_us", stage.pass_us},
                              {"transfer_us", stage.transfer_us},
                              {"delay_us", stage.delay_us}});
  }
  return JsonLine(json);
}

}  // namespace sti
