// An evaluation is a labelled data set in numbers: how many answers were right, how long they took,
// what they read. A gate is a bound on one of these numbers that continuous integration sets.
// Measuring is elsewhere (evaluate.cpp), so that tests can judge numbers that they make up.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/session.h"
#include "base/digest.h"
#include "base/samples.h"
#include "baseline.h"
#include "types/label_counts.h"
#include "types/model_info.h"
#include "types/plan.h"
#include "types/score.h"

namespace sti {

/// A row that could not be used: it counts as wrong, and no time or loss is known of it.
struct RowError {
  uint64_t row = 0;    ///< from 1
  std::string reason;  ///< one line
};

/// Holds what one level of a cascade answered.
struct LevelTally {
  uint64_t answers = 0;
  uint64_t right = 0;
  double predicted_share = 0;  ///< of all inputs, that it answers as the plan predicts
};

/// Holds what a cascade did for a data set.
struct CascadeTally {
  std::vector<LevelTally> levels;  ///< the plan itself is the last
  uint64_t deadline_returns = 0;   ///< answers of a level for want of time for the next
  uint64_t words_pruned = 0;       ///< that levels which answered did without
  double latency_us = 0;           ///< sum over answers
  std::optional<double> mean_us;   ///< predicted mean latency; nothing if nothing is predicted
};

/// Returns what is to be counted under a plan; nothing if it has no cascade.
std::optional<CascadeTally> CascadeTallyOf(const Plan& plan);

/// Holds what the answers to a data set add up to, and what the process took for them.
struct Evaluation {
  std::vector<bool> right;       ///< [examples] whether it got its labels and no others
  std::vector<RowError> errors;  ///< rows that got no answer, ascending
  bool reads_failed = false;     ///< of some of them
  LabelCounts labels;            ///< that examples have, and that they were given
  Digest rows;                   ///< of the examples' texts and labels
  uint64_t deadline_misses = 0;  ///< answers that came after the target
  uint64_t degraded_inputs = 0;  ///< answers of which some shard had fewer bits than planned
  bool guaranteed = false;       ///< the plan has a fallback
  uint64_t fallbacks = 0;        ///< answers of the fallback
  uint64_t rows_missing = 0;     ///< words of answers that counted as unknown
  RunningMean loss;              ///< in nats
  RunningMean bytes_read;
  Samples latency_us;  ///< [answers] from the text to the answer
  Samples stall_us;    ///< [answers] computation waiting for IO
  Samples over_bound;  ///< [answers] latency as a multiple of the pipeline's bound
  uint64_t preload_bytes = 0;
  uint64_t peak_rss_bytes = 0;
  std::optional<double> target_us;             ///< nothing if the plan has none
  std::optional<double> predicted_latency_us;  ///< nothing if the plan predicts nothing
  std::optional<double> predicted_p99_us;      ///< there exactly if predicted_latency_us is
  std::optional<Comparison> compared;          ///< with a baseline, if one was given
  std::optional<CascadeTally> cascade;         ///< nothing if the plan has none

  /// Adds one example, which has the labels `truth` and was given the labels `given`.
  void Add(const Judgement& judged, std::span<const uint32_t> truth,
           std::span<const uint32_t> given, const Answer& answer);
  /// Adds one example, which has the labels `truth` and got no answer for this reason.
  void AddUnanswered(std::span<const uint32_t> truth, std::string reason);

  [[nodiscard]] uint64_t examples() const { return right.size(); }
  /// Returns how many examples got an answer.
  [[nodiscard]] uint64_t answers() const { return right.size() - errors.size(); }
  /// Returns how many examples are right.
  [[nodiscard]] uint64_t right_count() const;
  /// Returns the share of examples that are right, 0 without examples.
  [[nodiscard]] double accuracy() const;
};

/// Returns one object on one line. `info` is the model's.
std::string EvaluationToJson(const Evaluation& evaluation, const ModelInfo& info);

/// Prints a line for each number that says something.
void PrintEvaluation(const Evaluation& evaluation, const ModelInfo& info);

/// Holds the bounds that a user sets; a number may reach its bound.
struct Gates {
  std::optional<double> min_accuracy = {};        ///< share of examples that are right
  std::optional<double> max_p99_us = {};          ///< bound of the latency's 99th percentile
  std::optional<uint64_t> max_memory_bytes = {};  ///< of the process, at its peak
  std::optional<uint64_t> max_input_bytes = {};   ///< read for an input, on average
  std::optional<uint64_t> max_misses = {};        ///< answers after the target
  /// Share of examples by which accuracy may be below the baseline's. A larger fall passes too if
  /// it may be chance, by McNemar's exact test at 5 %.
  std::optional<double> max_drop = {};
};

/// Returns a sentence for each gate that the evaluation does not pass. An evaluation without
/// examples passes all.
std::vector<std::string> FailedGates(const Evaluation& evaluation, const Gates& gates);

}  // namespace sti
