#include "score/evaluation.h"

#include <algorithm>
#include <utility>

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
  right.push_back(row.judged.right);
  labels.Add(truth, row.given);
  deadline_misses += row.late ? 1 : 0;
  degraded_inputs += row.degraded ? 1 : 0;
  guaranteed = guaranteed || row.guaranteed;
  fallbacks += row.fallback_rows_missing ? 1 : 0;
  rows_missing += row.fallback_rows_missing.value_or(0);
  loss.Add(row.judged.loss);
  bytes_read.Add(static_cast<double>(row.bytes_read));
  latency_us.Add(row.latency_us);
  stall_us.Add(row.stall_us);
  over_bound.Add(row.over_bound);
  if (cascade && row.cascade) AddLevel(row, &*cascade);
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

double Evaluation::accuracy_before() const {
  return static_cast<double>(compared->right_before) / static_cast<double>(examples());
}

std::optional<double> Evaluation::PositiveF1(const ModelInfo& info) const {
  if (info.problem != Problem::kSingleLabel || info.labels.size() != 2) return std::nullopt;
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
  judge(Gate::kAccuracy, gates.min_accuracy && evaluation.accuracy() < *gates.min_accuracy);
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

}  // namespace sti
