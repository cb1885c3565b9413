// An evaluation is a labelled data set in numbers: how many answers were right, how long they took,
// what they read. A gate is a bound on one of these numbers that continuous integration sets.
// Measuring is elsewhere (evaluate.h), so that tests can judge numbers that they make up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/session.h"
#include "base/samples.h"
#include "types/score.h"

namespace sti {

/// Holds what the answers to a data set add up to, and what the process took for them.
struct Evaluation {
  uint64_t right = 0;            ///< examples that got their labels and no others
  uint64_t deadline_misses = 0;  ///< answers that came after the target
  uint64_t degraded_inputs = 0;  ///< answers of which some shard had fewer bits than planned
  RunningMean loss;              ///< in nats
  RunningMean bytes_read;
  Samples latency_us;  ///< [examples] from the text to the answer
  Samples stall_us;    ///< [examples] computation waiting for IO
  Samples over_bound;  ///< [examples] latency as a multiple of the pipeline's bound
  uint64_t preload_bytes = 0;
  uint64_t peak_rss_bytes = 0;
  std::optional<double> target_us;             ///< nothing if the plan has none
  std::optional<double> predicted_latency_us;  ///< nothing if the plan predicts nothing
  std::optional<double> predicted_p99_us;      ///< there exactly if predicted_latency_us is

  /// Adds one example.
  void Add(const Judgement& judged, const Answer& answer);

  [[nodiscard]] uint64_t examples() const { return latency_us.count(); }
  /// Returns the share of examples that are right, 0 without examples.
  [[nodiscard]] double accuracy() const;
};

/// Returns one object on one line.
std::string EvaluationToJson(const Evaluation& evaluation);

/// Prints a line for each number that says something.
void PrintEvaluation(const Evaluation& evaluation);

/// Holds the bounds that a user sets; a number may reach its bound.
struct Gates {
  std::optional<double> min_accuracy;  ///< share of examples that are right
  std::optional<double> max_p99_us;    ///< bound of the latency's 99th percentile
};

/// Returns a sentence for each gate that the evaluation does not pass. An evaluation without
/// examples passes all.
std::vector<std::string> FailedGates(const Evaluation& evaluation, const Gates& gates);

}  // namespace sti
