// Importance says which shards of a model matter, and how good its submodels are. It is measured or
// estimated, stored in an importance file, and read by the planner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "types/model_info.h"
#include "types/model_order.h"
#include "types/shard_id.h"
#include "types/word_use.h"

namespace sti {

/// The measure that scores are of; a higher score is better with each.
///
/// Models that give labels have three: the share of examples that are right (kAccuracy), or the
/// mean loss negated, against the truth (kLoss) or against the full model's answer (kKl). The last
/// uses no truths: there an example is right if it has the full model's label.
///
/// Models that label tokens have three: the F1 of all examples' spans (kF1), or the mean loss
/// negated as above, that of an example being the mean over its words. By kKl the full model's
/// spans are those that are true. Words are labelled by their first tokens.
///
/// Models that embed have two: the mean cosine between an example's vector and the full model's
/// (kCosine), which uses no truths; or Spearman's correlation (kSpearman) of the cosines between
/// the two vectors of each example, which is a pair of texts, and the scores that people gave the
/// pairs.
enum class Metric : uint8_t { kAccuracy, kLoss, kKl, kCosine, kSpearman, kF1 };

/// The traits of a metric: all that is known of it before anything is measured.
struct MetricTraits {
  const char* name;               ///< in files and options
  const char* quality;            ///< what it says of a submodel, in a sentence: "an accuracy"
  bool for_labels = false;        ///< it is for models that label texts
  bool for_token_labels = false;  ///< it is for models that label tokens
  bool for_embeddings = false;    ///< it is for models that embed
  bool is_counted = false;  ///< scores are shares of what is right: in percent, without a slope
  bool is_loss = false;     ///< scores are losses, negated; else a quality that grows, and no loss
  bool by_reference = false;  ///< against the full model's output, so that it needs no truths
  double least = 0;           ///< that SubmodelScore::accuracy can be; the most is 1
};

/// All metrics, by number.
inline constexpr MetricTraits kMetrics[] = {
    {.name = "accuracy", .quality = "an accuracy", .for_labels = true, .is_counted = true},
    {.name = "loss",
     .quality = "an accuracy",
     .for_labels = true,
     .for_token_labels = true,
     .is_loss = true},
    {.name = "kl",
     .quality = "an accuracy",
     .for_labels = true,
     .for_token_labels = true,
     .is_loss = true,
     .by_reference = true},
    {.name = "cosine",
     .quality = "a cosine",
     .for_embeddings = true,
     .by_reference = true,
     .least = -1},
    {.name = "spearman", .quality = "a Spearman correlation", .for_embeddings = true, .least = -1},
    {.name = "f1", .quality = "an F1", .for_token_labels = true, .is_counted = true},
};

/// Returns whether a number is that of a metric.
constexpr bool IsMetric(Metric metric) { return static_cast<size_t>(metric) < std::size(kMetrics); }

/// Returns what is known of a metric; of a number that is none, what is known of the first.
constexpr const MetricTraits& TraitsOf(Metric metric) {
  return kMetrics[IsMetric(metric) ? static_cast<size_t>(metric) : 0];
}

/// Returns whether a metric is for models whose heads give this.
constexpr bool IsFor(Metric metric, HeadOutput output) {
  const MetricTraits& traits = TraitsOf(metric);
  switch (output) {
    case HeadOutput::kLabels:
      return traits.for_labels;
    case HeadOutput::kTokenLabels:
      return traits.for_token_labels;
    case HeadOutput::kEmbedding:
      return traits.for_embeddings;
    case HeadOutput::kNextToken:
      break;
  }
  return false;
}

/// Returns what a metric says of a submodel whose head gives this, in a sentence: a loss of token
/// labels stands beside an F1.
constexpr const char* QualityWords(Metric metric, HeadOutput output) {
  return TraitsOf(output == HeadOutput::kTokenLabels ? Metric::kF1 : metric).quality;
}

/// Returns the name of a metric in files and options; empty for a number that is none.
constexpr const char* NameOf(Metric metric) {
  return IsMetric(metric) ? TraitsOf(metric).name : "";
}

/// Returns the metric with this name; nothing if there is none.
constexpr std::optional<Metric> FindMetric(std::string_view name) {
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    if (name == kMetrics[i].name) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

/// One submodel with all its shards at one bitwidth, as a cascade level, and how well its
/// confidence is calibrated. The calibrated numbers are those of examples that the temperature was
/// not fitted to.
struct CascadeLevelScore {
  uint32_t depth = 0;         ///< n
  uint32_t width = 0;         ///< m
  uint32_t bits = 0;          ///< bits of every shard
  double accuracy = 0;        ///< 0 to 1, alone on all examples
  double temperature = 1;     ///< τ: softmax(logits / τ) is the confidence (Tabi 4.1)
  double nll = 0;             ///< mean negative log-likelihood in nats, with τ = 1
  double calibrated_nll = 0;  ///< `nll` with τ
  double ece = 0;             ///< expected calibration error of 15 bins, 0 to 1, with τ = 1
  double calibrated_ece = 0;  ///< `ece` with τ
  friend bool operator==(const CascadeLevelScore&, const CascadeLevelScore&) = default;
};

/// A cascade's results under one cut, which holds between all its levels. Lists named [levels] have
/// an entry for each level of the cascade, cheapest first; lists named [levels - 1] have one for
/// each that goes on to the next.
struct CascadeCut {
  double cutoff = 1;               ///< c, 0 to 1: at or below it an input goes on
  std::optional<double> slope;     ///< k of random dispatch (Tabi eq. 4); nothing: a hard cut
  std::vector<double> weights;     ///< [levels - 1] w of the next level's softmax in the ensemble
  std::vector<double> shares;      ///< [levels] of all examples that the level answers; sum 1
  std::vector<double> accuracies;  ///< [levels] of the examples that it answers; 0 if none
  double accuracy = 0;             ///< over all examples
  std::vector<double> words_left;  ///< [levels - 1] share of the words of examples that go on
  /// The standard error of `accuracy` less the accuracy of the last level alone on the same
  /// examples, of which only those count that one of the two gets right; 0: unknown.
  double difference_error = 0;

  /// Returns whether some level's label is that of an ensemble.
  [[nodiscard]] bool HasEnsemble() const {
    return std::any_of(weights.begin(), weights.end(), [](double w) { return w < 1; });
  }
  friend bool operator==(const CascadeCut&, const CascadeCut&) = default;
};

/// A cascade of measured levels, which prunes words by one α between all of them.
struct CascadeScore {
  std::vector<uint32_t> levels;  ///< 2 or 3 indexes of Importance::cascade_levels, ascending
  double alpha = 0;              ///< α, 0 to 1 (Tabi eq. 5); 0 prunes nothing
  std::vector<CascadeCut> cuts;
  friend bool operator==(const CascadeScore&, const CascadeScore&) = default;
};

/// One submodel with all its shards at one bitwidth, on the same examples as the scores.
struct SubmodelScore {
  uint32_t depth = 0;  ///< n
  uint32_t width = 0;  ///< m
  uint32_t bits = 0;   ///< bits of every shard
  /// Share of examples that are right, 0 to 1; with kl: share of labels that equal the full
  /// model's; of models that label tokens: the F1 of spans, 0 to 1; with metrics of models that
  /// embed: the metric itself, -1 to 1.
  double accuracy = 0;
  /// Mean over examples; with kl: the divergence from the full model; with metrics of models that
  /// embed: 1 less the metric.
  double loss = 0;
  friend bool operator==(const SubmodelScore&, const SubmodelScore&) = default;
};

/// Holds the table of STI 5.2, one score a shard.
struct Importance {
  Digest model;
  Metric metric = Metric::kAccuracy;
  uint64_t examples = 0;
  double baseline = 0;         ///< the metric with every shard at its fewest bits
  uint32_t layers = 0;         ///< N
  uint32_t width = 0;          ///< M
  std::vector<double> scores;  ///< [layers, width] row-major; higher is more important
  std::vector<double> losses;  ///< [layers, width] mean loss; breaks ties of scores. May be empty
  double standard_error = 0;   ///< standard error of `baseline`
  std::string kernel;          ///< arithmetic that made it
  /// A(n, m) at the most bits and at fewer. Empty: not measured. Sorted by depth, width, bits; each
  /// once.
  std::vector<SubmodelScore> submodels;
  /// Bitwidths above the fewest, ascending, at which gains were measured. Empty: none were.
  std::vector<uint32_t> gain_bits;
  /// [layers, width, gain_bits] how far the loss (SubmodelScore::loss) falls when this shard alone
  /// is raised from the fewest bits to these; negative where it rises.
  std::vector<double> gains;
  /// The digest of the tokenised examples and their labels or scores (none where the metric is by
  /// reference), in order (since 1.2); zero: unknown.
  Digest data;
  /// [layers, width] standard error of a score minus the baseline, each example its own control
  /// (since 1.2). May be empty.
  std::vector<double> errors;
  /// How the scores were estimated, "first-order" say (since 1.2); empty: they were measured.
  std::string estimate;
  /// Heads and neurons by what they are worth (since 1.3); empty: not asked for.
  ModelOrder order;
  WordUse word_use;  ///< word use of the examples (since 1.4); empty: not counted
  /// Levels that were measured for cascades (since 1.5), cheapest first: sorted by slices (depth x
  /// width), bits, depth; each once. Empty: none were.
  std::vector<CascadeLevelScore> cascade_levels;
  std::vector<CascadeScore> cascades;  ///< (since 1.5)
};

/// Returns whether there is an importance that counted words, so that it says which are frequent.
inline bool CountsWords(const Importance* importance) {
  return importance != nullptr && !importance->word_use.empty();
}

/// Returns all shards, most important first (STI 5.2, the sorted table). Ties go to the lower loss,
/// then the lower layer, then the lower slice, so that the order is the same anywhere.
/// `scores` must hold layers x width numbers, none of them NaN, and `losses` as many or none.
inline std::vector<ShardId> ImportanceRank(const Importance& importance) {
  std::vector<size_t> order(importance.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const bool has_losses = importance.losses.size() == importance.scores.size();
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (importance.scores[a] != importance.scores[b])
      return importance.scores[a] > importance.scores[b];
    return has_losses && importance.losses[a] < importance.losses[b];
  });
  std::vector<ShardId> rank;
  rank.reserve(order.size());
  for (size_t shard : order) {
    rank.push_back({static_cast<uint32_t>(shard / importance.width),
                    static_cast<uint32_t>(shard % importance.width)});
  }
  return rank;
}

}  // namespace sti
