// An evaluation as one line of JSON.
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_line.h"
#include "score/baseline.h"
#include "score/evaluation.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

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
  return {{"accuracy", e.accuracy_before()},
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
  json["positive_f1"] = OrNull(e.PositiveF1(info));
  json["unanswered"] = e.errors.size();
  json["errors"] = ErrorsOf(e);
  json["classes"] = ClassesOf(e.labels, info);
  json["confusion"] = ConfusionOf(e.labels, info);
  json[Baseline::kRowsField] = e.rows.Hex();
  json[Baseline::kRightField] = RightToHex(e.right);
  json["baseline"] = ComparisonOf(e);
}

Json CascadeOf(const Evaluation& e) {
  const CascadeTally& cascade = *e.cascade;
  Json levels = Json::array();
  for (const LevelTally& level : cascade.levels) {
    levels.push_back({{"level", levels.size() + 1},
                      {"answers", level.answers},
                      {"share", level.share(e.answers())},
                      {"predicted_share", level.predicted_share},
                      {"accuracy", OrNull(level.accuracy())}});
  }
  const auto answers = static_cast<double>(e.answers());
  return {
      {"levels", std::move(levels)},
      {"deadline_returns", cascade.deadline_returns},
      {"words_pruned", cascade.words_pruned},
      {"mean_latency_us", e.answers() == 0 ? Json(nullptr) : Json(cascade.latency_us / answers)},
      {"predicted_mean_us", OrNull(cascade.mean_us)}};
}

}  // namespace

std::string EvaluationToJson(const Evaluation& e, const ModelInfo& info) {
  Json json;
  json[Baseline::kExamplesField] = e.examples();
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

}  // namespace sti
