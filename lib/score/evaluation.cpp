#include "score/evaluation.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "score/baseline.h"
#include "types/rank_correlation.h"

namespace sti {
namespace {

void AddLevel(const AnsweredRow& row, CascadeTally* cascade) {
  // Another plan may have more levels than the one that was there first.
  const size_t number = row.cascade->level;
  cascade->levels.resize(std::max(cascade->levels.size(), number));
  LevelTally& level = cascade->levels[number - 1];
  ++level.answers;
  level.right += row.judged.right ? 1 : 0;
  cascade->deadline_returns += row.cascade->for_want_of_time ? 1 : 0;
  cascade->words_pruned += row.cascade->words_pruned;
  cascade->latency_us += row.latency_us;
}

}  // namespace

double LevelTally::share(uint64_t all) const {
  return all == 0 ? 0 : static_cast<double>(answers) / static_cast<double>(all);
}

std::optional<double> LevelTally::accuracy() const {
  if (answers == 0) return std::nullopt;
  return static_cast<double>(right) / static_cast<double>(answers);
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

void Evaluation::Add(std::span<const uint32_t> truth, const AnsweredRow& row) {
  labels.Add(truth, row.given);
  loss.Add(row.judged.loss);
  AddRow(row);
}

void Evaluation::AddSpans(std::span<const WordSpan> truth, std::span<const WordSpan> given,
                          const AnsweredRow& row) {
  const auto is_in = [](std::span<const WordSpan> spans, const WordSpan& span) {
    return std::ranges::find(spans, span) != spans.end();
  };
  for (const WordSpan& span : truth) labels.AddSpan(span.kind, true, is_in(given, span));
  for (const WordSpan& span : given) {
    if (!is_in(truth, span)) labels.AddSpan(span.kind, false, true);
  }
  AddRow(row);
}

void Evaluation::AddRow(const AnsweredRow& row) {
  right.push_back(row.judged.right);
  AddMeasured(row);
  if (cascade && row.cascade) AddLevel(row, &*cascade);
}

void Evaluation::AddPair(double score, double cosine, const AnsweredRow& first,
                         const AnsweredRow& second) {
  ++pairs->pairs;
  pairs->scores.push_back(score);
  pairs->cosines.push_back(cosine);
  AddMeasured(first);
  AddMeasured(second);
}

void Evaluation::AddUnansweredPair(std::string reason) {
  ++pairs->pairs;
  errors.push_back({pairs->pairs, std::move(reason)});
}

void Evaluation::AddMeasured(const AnsweredRow& row) {
  deadline_misses += row.late ? 1 : 0;
  degraded_inputs += row.degraded ? 1 : 0;
  guaranteed = guaranteed || row.guaranteed;
  fallbacks += row.fallback_rows_missing ? 1 : 0;
  rows_missing += row.fallback_rows_missing.value_or(0);
  if (row.windows) windows = windows.value_or(0) + *row.windows;
  bytes_read.Add(static_cast<double>(row.bytes_read));
  latency_us.Add(row.latency_us);
  stall_us.Add(row.stall_us);
  over_bound.Add(row.over_bound);
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

LabelCount Evaluation::AllSpans() const {
  LabelCount all;
  for (const LabelCount& kind : labels.labels()) {
    all.examples += kind.examples;
    all.given += kind.given;
    all.right += kind.right;
  }
  return all;
}

std::optional<double> PairTally::spearman() const { return Spearman(cosines, scores); }

double PairTally::standard_error() const {
  RunningMean mean;
  for (const double influence : SpearmanInfluence(cosines, scores)) mean.Add(influence);
  return mean.standard_error();
}

double Evaluation::quality() const {
  if (pairs) return pairs->spearman().value_or(0);
  return has_spans() ? AllSpans().F1() : accuracy();
}

double Evaluation::accuracy_before() const {
  return static_cast<double>(compared->right_before) / static_cast<double>(examples());
}

std::optional<double> Evaluation::PositiveF1(const ModelInfo& info) const {
  const bool is_one_of_two = info.problem == Problem::kSingleLabel && info.labels.size() == 2;
  if (!is_one_of_two || has_spans()) return std::nullopt;
  return labels.F1(1);
}

namespace {

// Whether accuracy fell by more than a share `drop` of the examples, and not by chance. A drop that
// is a whole number of examples may be reached, however it is rounded.
bool Fell(const Evaluation& e, double drop) {
  const auto fall = static_cast<double>(e.compared->lost) - static_cast<double>(e.compared->gained);
  return fall > drop * static_cast<double>(e.examples()) + 1e-6 && e.compared->p_value <= 0.05;
}

}  // namespace

std::vector<Gate> FailedGates(const Evaluation& evaluation, const Gates& gates) {
  std::vector<Gate> failed;
  if (evaluation.examples() == 0) return failed;
  const auto judge = [&failed](Gate gate, bool fails) {
    if (fails) failed.push_back(gate);
  };
  judge(Gate::kAccuracy, gates.min_accuracy && evaluation.quality() < *gates.min_accuracy);
  judge(Gate::kP99, gates.max_p99_us && evaluation.latency_us.p99() > *gates.max_p99_us);
  judge(Gate::kMemory,
        gates.max_memory_bytes && evaluation.peak_rss_bytes > *gates.max_memory_bytes);
  judge(Gate::kInputBytes,
        gates.max_input_bytes &&
            evaluation.bytes_read.mean() > static_cast<double>(*gates.max_input_bytes));
  judge(Gate::kMisses, gates.max_misses && evaluation.deadline_misses > *gates.max_misses);
  judge(Gate::kDrop, gates.max_drop && evaluation.compared && Fell(evaluation, *gates.max_drop));
  return failed;
}

namespace {

using Json = nlohmann::ordered_json;

// Every label that occurs, in the model's order.
Json ClassesOf(const LabelCounts& counts, const std::vector<std::string>& names) {
  Json classes = Json::object();
  for (size_t label = 0; label < counts.labels().size(); ++label) {
    const LabelCount& count = counts.labels()[label];
    if (!count.occurs()) continue;
    classes[names[label]] = {{"examples", count.examples},
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

// Spans of all kinds together, as seqeval counts them.
Json SpansOf(const Evaluation& e) {
  const LabelCount all = e.AllSpans();
  return {{"examples", all.examples},     {"given", all.given},     {"right", all.right},
          {"precision", all.Precision()}, {"recall", all.Recall()}, {"f1", all.F1()},
          {"cut_texts", e.cut_texts}};
}

// Adds what is known of right and wrong answers.
void AddCorrectness(const Evaluation& e, const ModelInfo& info, Json& json) {
  if (e.pairs) {
    json["unanswered"] = e.errors.size();
    json["errors"] = ErrorsOf(e);
    json[Baseline::kRowsField] = e.rows.Hex();
    return;
  }
  const ShareInterval interval = WilsonInterval(e.right_count(), e.examples());
  json["accuracy_interval"] = {interval.low, interval.high};
  if (e.has_spans()) json["spans"] = SpansOf(e);
  json["macro_f1"] = e.labels.MacroF1();
  json["positive_f1"] = OrNull(e.PositiveF1(info));
  json["unanswered"] = e.errors.size();
  json["errors"] = ErrorsOf(e);
  json["classes"] = ClassesOf(e.labels, e.has_spans() ? e.span_names : info.labels);
  json["confusion"] = e.has_spans() ? Json(nullptr) : ConfusionOf(e.labels, info);
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
  if (e.pairs) {
    json["spearman"] = OrNull(e.pairs->spearman());
    json["standard_error"] = e.pairs->standard_error();
  } else {
    json["accuracy"] = e.accuracy();
    json["mean_loss"] = MeasuredOf(e.loss);
  }
  json["latency_us"] =
      MeasuredOf(e.latency_us, {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}});
  json["deadline_misses"] = e.deadline_misses;
  json["degraded_inputs"] = e.degraded_inputs;
  if (e.windows) json["windows"] = *e.windows;
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
