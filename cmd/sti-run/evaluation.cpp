#include "evaluation.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/counted.h"
#include "common/json.h"
#include "common/parse.h"
#include "common/text.h"
#include "types/significance.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

double AccuracyBefore(const Evaluation& e) {
  return static_cast<double>(e.compared->right_before) / static_cast<double>(e.examples());
}

std::string AccuracySentence(double accuracy, double least) {
  return Format("accuracy %.4f is below --min-accuracy %.4f", accuracy, least);
}

// Whether accuracy fell by more than a share `drop` of the examples, and not by chance. A drop that
// is a whole number of examples may be reached, however it is rounded.
bool Fell(const Evaluation& e, double drop) {
  const auto fall = static_cast<double>(e.compared->lost) - static_cast<double>(e.compared->gained);
  return fall > drop * static_cast<double>(e.examples()) + 1e-6 && e.compared->p_value <= 0.05;
}

std::string DropSentence(const Evaluation& e, double drop) {
  return Format(
      "accuracy %.4f is below the baseline's %.4f by more than --max-drop %.4f, and not "
      "by chance (p %.4f)",
      e.accuracy(), AccuracyBefore(e), drop, e.compared->p_value);
}

std::string SizeSentence(const char* what, uint64_t bytes, const char* gate, uint64_t most) {
  return std::string(what) + " " + FormatBytes(bytes) + " is above " + gate + " " +
         FormatBytes(most);
}

// The F1 of the label with id 1, which of two says yes.
std::optional<double> PositiveF1(const Evaluation& e, const ModelInfo& info) {
  if (info.problem != Problem::kSingleLabel || info.labels.size() != 2) return std::nullopt;
  return e.labels.F1(1);
}

// Every label that occurs, in the model's order.
Json ClassesOf(const LabelCounts& counts, const ModelInfo& info) {
  Json classes = Json::object();
  for (size_t label = 0; label < counts.labels().size(); ++label) {
    const LabelCount& count = counts.labels()[label];
    if (!count.occurs()) continue;
    classes[info.labels[label]] = {{"examples", count.examples},
                                   {"given", count.given},
                                   {"right", count.right},
                                   {"unanswered", count.unanswered},
                                   {"f1", count.F1()}};
  }
  return classes;
}

// Label to label that was given to count, those that occur. Sets of labels are not confused one
// with one.
Json ConfusionOf(const LabelCounts& counts, const ModelInfo& info) {
  if (info.problem == Problem::kMultiLabel) return nullptr;
  Json confusion = Json::object();
  for (const auto& [labels, count] : counts.confusion()) {
    confusion[info.labels[labels.first]][info.labels[labels.second]] = count;
  }
  return confusion;
}

Json ComparisonOf(const Evaluation& e) {
  if (!e.compared) return nullptr;
  return {{"accuracy", AccuracyBefore(e)},
          {"gained", e.compared->gained},
          {"lost", e.compared->lost},
          {"p_value", e.compared->p_value}};
}

Json ErrorsOf(const Evaluation& e) {
  Json errors = Json::array();
  for (const RowError& error : e.errors) {
    errors.push_back({{"row", error.row}, {"error", error.reason}});
  }
  return errors;
}

// Returns figures of what was measured of answers, by name: null each if there was no answer.
Json MeasuredOf(const Samples& samples, std::initializer_list<std::pair<const char*, double>> at) {
  Json json;
  for (const auto& [name, share] : at) {
    json[name] = samples.count() == 0 ? Json(nullptr) : Json(samples.Quantile(share));
  }
  return json;
}

Json MeasuredOf(const RunningMean& mean) {
  return mean.count() == 0 ? Json(nullptr) : Json(mean.mean());
}

// Adds what is known of right and wrong answers.
void AddCorrectness(const Evaluation& e, const ModelInfo& info, Json& json) {
  const ShareInterval interval = WilsonInterval(e.right_count(), e.examples());
  json["accuracy_interval"] = {interval.low, interval.high};
  json["macro_f1"] = e.labels.MacroF1();
  json["positive_f1"] = OrNull(PositiveF1(e, info));
  json["unanswered"] = e.errors.size();
  json["errors"] = ErrorsOf(e);
  json["classes"] = ClassesOf(e.labels, info);
  json["confusion"] = ConfusionOf(e.labels, info);
  json["rows_digest"] = e.rows.Hex();
  json["correct_bits"] = RightToHex(e.right);
  json["baseline"] = ComparisonOf(e);
}

void PrintCorrectness(const Evaluation& e, const ModelInfo& info) {
  const ShareInterval interval = WilsonInterval(e.right_count(), e.examples());
  std::printf("accuracy        %.2f %% of %s, within %.2f and %.2f %% at 95 %% confidence\n",
              e.accuracy() * 100, std::to_string(e.examples()).c_str(), interval.low * 100,
              interval.high * 100);
  std::printf("F1              macro %.4f", e.labels.MacroF1());
  if (const auto positive = PositiveF1(e, info)) std::printf(", positive %.4f", *positive);
  std::printf("\n");
  if (!e.errors.empty()) {
    std::printf("unanswered      %s inputs, which count as wrong\n",
                std::to_string(e.errors.size()).c_str());
  }
  if (!e.compared) return;
  std::printf("baseline        %.2f %%, since then %s gained, %s lost, p %.4f\n",
              AccuracyBefore(e) * 100, std::to_string(e.compared->gained).c_str(),
              std::to_string(e.compared->lost).c_str(), e.compared->p_value);
}

// The latency of an answer as a multiple of its pipeline's bound, of all cascade levels together.
double OverBound(const Answer& answer) {
  double latency_us = answer.run.latency_us;
  double bound_us = PipelineBoundUs(answer.run);
  if (answer.cascade) {
    for (const CascadeLevelRun& level : answer.cascade->before()) {
      latency_us += level.run.latency_us;
      bound_us += PipelineBoundUs(level.run);
    }
  }
  return latency_us / bound_us;
}

void AddLevel(const Judgement& judged, const Answer& answer, CascadeTally* cascade) {
  // Another plan may have more levels than the one that was there first.
  const size_t number = answer.cascade->level;
  cascade->levels.resize(std::max(cascade->levels.size(), number));
  LevelTally& level = cascade->levels[number - 1];
  ++level.answers;
  level.right += judged.right ? 1 : 0;
  cascade->deadline_returns += answer.cascade->returned == Returned::kDeadline ? 1 : 0;
  cascade->words_pruned += answer.cascade->words_pruned;
  cascade->latency_us += answer.latency_us;
}

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json CascadeOf(const Evaluation& e) {
  const CascadeTally& cascade = *e.cascade;
  Json levels = Json::array();
  for (const LevelTally& level : cascade.levels) {
    levels.push_back({{"level", levels.size() + 1},
                      {"answers", level.answers},
                      {"share", Share(level.answers, e.answers())},
                      {"predicted_share", level.predicted_share},
                      {"accuracy", level.answers == 0 ? Json(nullptr)
                                                      : Json(Share(level.right, level.answers))}});
  }
  const auto answers = static_cast<double>(e.answers());
  return {
      {"levels", std::move(levels)},
      {"deadline_returns", cascade.deadline_returns},
      {"words_pruned", cascade.words_pruned},
      {"mean_latency_us", e.answers() == 0 ? Json(nullptr) : Json(cascade.latency_us / answers)},
      {"predicted_mean_us", OrNull(cascade.mean_us)}};
}

void PrintCascade(const Evaluation& e) {
  const CascadeTally& cascade = *e.cascade;
  for (size_t i = 0; i < cascade.levels.size(); ++i) {
    const LevelTally& level = cascade.levels[i];
    std::printf("level %zu         answers %.1f %% of inputs, %.1f %% predicted", i + 1,
                Share(level.answers, e.answers()) * 100, level.predicted_share * 100);
    if (level.answers > 0) std::printf("; %.2f %% right", Share(level.right, level.answers) * 100);
    std::printf("\n");
  }
  if (cascade.deadline_returns > 0) {
    std::printf("out of time     %s inputs had no time for the next level\n",
                std::to_string(cascade.deadline_returns).c_str());
  }
  if (cascade.words_pruned > 0)
    std::printf("words pruned    %s\n", std::to_string(cascade.words_pruned).c_str());
  std::printf("mean latency    %s",
              FormatTimeUs(cascade.latency_us / static_cast<double>(e.answers())).c_str());
  if (cascade.mean_us) std::printf(", predicted %s", FormatTimeUs(*cascade.mean_us).c_str());
  std::printf("\n");
}

// Prints loss, times and bytes of the answers.
void PrintMeasured(const Evaluation& e) {
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
  if (e.guaranteed) {
    std::printf("fallback        %s inputs, %s words unknown\n",
                std::to_string(e.fallbacks).c_str(), std::to_string(e.rows_missing).c_str());
  }
  std::printf("stalled         median %s\n", FormatTimeUs(e.stall_us.median()).c_str());
  std::printf("read an input   %s\n",
              FormatBytes(static_cast<uint64_t>(e.bytes_read.mean())).c_str());
}

}  // namespace

void Evaluation::Add(const Judgement& judged, std::span<const uint32_t> truth,
                     std::span<const uint32_t> given, const Answer& answer) {
  right.push_back(judged.right);
  labels.Add(truth, given);
  deadline_misses += answer.late() ? 1 : 0;
  degraded_inputs += answer.run.degraded.empty() ? 0 : 1;
  guaranteed = guaranteed || (answer.plan != nullptr && answer.plan->fallback);
  fallbacks += answer.run.fallback ? 1 : 0;
  rows_missing += answer.run.fallback ? answer.run.fallback->rows_missing : 0;
  loss.Add(judged.loss);
  bytes_read.Add(static_cast<double>(answer.bytes_read()));
  latency_us.Add(answer.latency_us);
  stall_us.Add(answer.stall_us());
  over_bound.Add(OverBound(answer));
  if (cascade && answer.cascade) AddLevel(judged, answer, &*cascade);
}

std::optional<CascadeTally> CascadeTallyOf(const Plan& plan) {
  if (!plan.cascade) return std::nullopt;
  CascadeTally cascade;
  double goes_on = 1;
  for (const double share : plan.cascade->return_share) {
    cascade.levels.push_back({.predicted_share = share});
    goes_on -= share;
  }
  cascade.levels.push_back({.predicted_share = std::max(goes_on, 0.0)});
  if (plan.cascade->mean_us > 0) cascade.mean_us = plan.cascade->mean_us;
  return cascade;
}

void Evaluation::AddUnanswered(std::span<const uint32_t> truth, std::string reason) {
  right.push_back(false);
  labels.AddUnanswered(truth);
  errors.push_back({right.size(), std::move(reason)});
}

uint64_t Evaluation::right_count() const {
  return static_cast<uint64_t>(std::count(right.begin(), right.end(), true));
}

double Evaluation::accuracy() const {
  return examples() == 0 ? 0 : static_cast<double>(right_count()) / static_cast<double>(examples());
}

std::string EvaluationToJson(const Evaluation& e, const ModelInfo& info) {
  Json json;
  json["examples"] = e.examples();
  json["accuracy"] = e.accuracy();
  json["mean_loss"] = MeasuredOf(e.loss);
  json["latency_us"] =
      MeasuredOf(e.latency_us, {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}});
  json["deadline_misses"] = e.deadline_misses;
  json["degraded_inputs"] = e.degraded_inputs;
  if (e.guaranteed) {
    json["fallback"] = e.fallbacks;
    json["rows_missing"] = e.rows_missing;
  }
  if (e.cascade) json["cascade"] = CascadeOf(e);
  json["over_bound"] = MeasuredOf(e.over_bound, {{"p50", 0.5}, {"p99", 0.99}});
  json["stall_us"] = MeasuredOf(e.stall_us, {{"p50", 0.5}, {"p99", 0.99}});
  json["bytes_read_per_input"] = MeasuredOf(e.bytes_read);
  json["preload_bytes"] = e.preload_bytes;
  json["peak_rss_bytes"] = e.peak_rss_bytes;
  json["target_us"] = OrNull(e.target_us);
  json["predicted_latency_us"] = OrNull(e.predicted_latency_us);
  json["predicted_p99_us"] = OrNull(e.predicted_p99_us);
  AddCorrectness(e, info, json);
  return JsonLine(json);
}

void PrintEvaluation(const Evaluation& e, const ModelInfo& info) {
  PrintCorrectness(e, info);
  if (e.answers() > 0) PrintMeasured(e);
  if (e.cascade && e.answers() > 0) PrintCascade(e);
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
  if (gates.max_memory_bytes && evaluation.peak_rss_bytes > *gates.max_memory_bytes) {
    failed.push_back(SizeSentence("peak memory", evaluation.peak_rss_bytes, "--max-memory",
                                  *gates.max_memory_bytes));
  }
  const double input_bytes = evaluation.bytes_read.mean();
  if (gates.max_input_bytes && input_bytes > static_cast<double>(*gates.max_input_bytes)) {
    failed.push_back(SizeSentence("read an input", static_cast<uint64_t>(input_bytes),
                                  "--max-bytes", *gates.max_input_bytes));
  }
  if (gates.max_misses && evaluation.deadline_misses > *gates.max_misses) {
    failed.push_back(Counted(evaluation.deadline_misses, "input") +
                     " missed the target, above --max-misses " + std::to_string(*gates.max_misses));
  }
  if (gates.max_drop && evaluation.compared && Fell(evaluation, *gates.max_drop)) {
    failed.push_back(DropSentence(evaluation, *gates.max_drop));
  }
  return failed;
}

}  // namespace sti
