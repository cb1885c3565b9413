// An evaluation is a data set in numbers: how many answers were right, or how well embeddings rank
// pairs of texts, how long answers took, what they read. It adds up rows, whoever asked a model for
// them (api/evaluate.h does), and is written as one line of JSON, of which a later evaluation reads
// its baseline. A gate is a bound on one of its numbers that a user sets, such as continuous
// integration that must not let a worse model pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/samples.h"
#include "score/baseline.h"
#include "score/label_counts.h"
#include "score/spans.h"
#include "types/model_info.h"
#include "types/plan.h"
#include "types/score.h"

namespace sti {

/// A row that could not be used: it counts as wrong, and no time or loss is known of it.
struct RowError {
  uint64_t row = 0;    ///< from 1
  std::string reason;  ///< one line
};

/// The part that a cascade had in the answer to a row.
struct CascadeRow {
  uint32_t level = 1;             ///< that answered, from 1
  bool for_want_of_time = false;  ///< the next level was wanted, and had no time
  uint32_t words_pruned = 0;      ///< that the level did without
};

/// The answer to a row, in the numbers that an evaluation adds up; of a cascade those of all levels
/// that ran, of a text in windows those of all.
struct AnsweredRow {
  Judgement judged;
  std::vector<uint32_t> given;  ///< labels, ascending
  double latency_us = 0;        ///< from the text to the answer
  double stall_us = 0;          ///< computation waiting for IO
  double over_bound = 0;        ///< latency as a multiple of the pipeline's bound
  uint64_t bytes_read = 0;
  bool late = false;                              ///< it came after the target
  bool degraded = false;                          ///< some shard had fewer bits than planned
  bool guaranteed = false;                        ///< the plan has a fallback
  std::optional<uint32_t> fallback_rows_missing;  ///< unknown words; nothing: no fallback answered
  std::optional<CascadeRow> cascade;              ///< nothing without a cascade
  std::optional<uint32_t> windows;  ///< that its text was read in; nothing: texts are cut
};

/// Holds what one level of a cascade answered.
struct LevelTally {
  uint64_t answers = 0;
  uint64_t right = 0;
  double predicted_share = 0;  ///< of all inputs, that it answers as the plan predicts

  /// Returns the share of `all` answers that are its own, 0 of none.
  [[nodiscard]] double share(uint64_t all) const;
  /// Returns the share of its answers that are right; nothing without answers.
  [[nodiscard]] std::optional<double> accuracy() const;
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

/// Holds what a model that embeds makes of pairs of texts with scores.
struct PairTally {
  uint64_t pairs = 0;           ///< also those that got no answer
  std::vector<double> cosines;  ///< [answered] of the embeddings of each pair
  std::vector<double> scores;   ///< [answered] how alike its texts are by people's judgement

  /// Returns Spearman's correlation of the two; nothing where one of them does not differ.
  [[nodiscard]] std::optional<double> spearman() const;
  /// Returns its standard error.
  [[nodiscard]] double standard_error() const;
};

/// Holds what the answers to a data set add up to, and what the process took for them. Examples are
/// rows; of a model that embeds each is a pair of texts, and has an answer for each of the two.
struct Evaluation {
  std::vector<bool> right;         ///< [examples] whether it got its labels and no others
  std::optional<PairTally> pairs;  ///< nothing of a model that gives labels, which has `right`
  std::vector<RowError> errors;    ///< rows that got no answer, ascending
  bool reads_failed = false;       ///< of some of them
  LabelCounts labels;              ///< that examples have, and that they were given
  /// The names of labels where these are kinds of spans, of a model that labels tokens: an example
  /// is right then if all its spans are. Empty: they are the model's labels.
  std::vector<std::string> span_names;
  uint64_t cut_texts = 0;        ///< texts with spans of which some did not fit
  Digest rows;                   ///< of the examples' texts and labels
  uint64_t deadline_misses = 0;  ///< answers that came after the target
  uint64_t degraded_inputs = 0;  ///< answers of which some shard had fewer bits than planned
  bool guaranteed = false;       ///< the plan has a fallback
  uint64_t fallbacks = 0;        ///< answers of the fallback
  uint64_t rows_missing = 0;     ///< words of answers that counted as unknown
  std::optional<uint64_t>
      windows;       ///< that texts were read in, all together; nothing: they are cut
  RunningMean loss;  ///< in nats
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

  /// Adds one example, which has the labels `truth`, ascending, and got this answer.
  void Add(std::span<const uint32_t> truth, const AnsweredRow& row);
  /// Adds one example whose words have the spans `truth` and were given the spans `given`.
  void AddSpans(std::span<const WordSpan> truth, std::span<const WordSpan> given,
                const AnsweredRow& row);
  /// Adds one example, which has the labels `truth` and got no answer for this reason.
  void AddUnanswered(std::span<const uint32_t> truth, std::string reason);
  /// Adds a pair with this score, whose texts got these answers, and embeddings with this cosine.
  void AddPair(double score, double cosine, const AnsweredRow& first, const AnsweredRow& second);
  /// Adds a pair of which one text got no answer for this reason.
  void AddUnansweredPair(std::string reason);

  [[nodiscard]] uint64_t examples() const { return pairs ? pairs->pairs : right.size(); }
  /// Returns how many examples got an answer.
  [[nodiscard]] uint64_t answers() const { return examples() - errors.size(); }
  /// Returns the number that the gate kAccuracy bounds: the accuracy, of spans their F1 (AllSpans),
  /// or of pairs the correlation, 0 without one.
  [[nodiscard]] double quality() const;
  /// Returns how many examples are right.
  [[nodiscard]] uint64_t right_count() const;
  /// Returns the share of examples that are right, 0 without examples.
  [[nodiscard]] double accuracy() const;
  /// Returns the share of examples that were right in the baseline. There are examples and one.
  [[nodiscard]] double accuracy_before() const;
  /// Returns whether labels are those of spans.
  [[nodiscard]] bool has_spans() const { return !span_names.empty(); }
  /// Returns the counts of all spans together.
  [[nodiscard]] LabelCount AllSpans() const;
  /// Returns the F1 of the label with id 1, which of two says yes; nothing for other models.
  [[nodiscard]] std::optional<double> PositiveF1(const ModelInfo& info) const;

 private:
  void AddRow(const AnsweredRow& row);
  void AddMeasured(const AnsweredRow& row);
};

/// Returns one object on one line, of which ParseBaseline (score/baseline.h) reads what it needs.
/// `info` is the model's. Fields are added, none is renamed: programs build on them.
std::string EvaluationToJson(const Evaluation& evaluation, const ModelInfo& info);

/// The number that a gate bounds.
enum class Gate : uint8_t {
  kAccuracy,    ///< Evaluation::quality
  kP99,         ///< the latency's 99th percentile
  kMemory,      ///< of the process, at its peak
  kInputBytes,  ///< read for an input, on average
  kMisses,      ///< answers after the target
  kDrop,        ///< fall of accuracy below the baseline's
};

/// Holds the bounds that a user sets; a number may reach its bound.
struct Gates {
  std::optional<double> min_accuracy = {};        ///< bound of Evaluation::quality
  std::optional<double> max_p99_us = {};          ///< bound of the latency's 99th percentile
  std::optional<uint64_t> max_memory_bytes = {};  ///< of the process, at its peak
  std::optional<uint64_t> max_input_bytes = {};   ///< read for an input, on average
  std::optional<uint64_t> max_misses = {};        ///< answers after the target
  /// Share of examples by which accuracy may be below the baseline's. A larger fall passes too if
  /// it may be chance, by McNemar's exact test at 5 %.
  std::optional<double> max_drop = {};
};

/// Returns the gates that the evaluation does not pass, in the order of Gate. An evaluation without
/// examples passes all.
std::vector<Gate> FailedGates(const Evaluation& evaluation, const Gates& gates);

}  // namespace sti
