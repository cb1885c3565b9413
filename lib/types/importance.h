// Importance says which shards of a model matter, and how good its submodels are. It is measured or
// estimated, stored in an importance file, and read by the planner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "types/cascade_score.h"
#include "types/model_order.h"
#include "types/word_use.h"

namespace sti {

/// One submodel with all its shards at one bitwidth, on the same examples as the scores.
struct SubmodelScore {
  uint32_t depth = 0;   ///< n
  uint32_t width = 0;   ///< m
  uint32_t bits = 0;    ///< bits of every shard
  double accuracy = 0;  ///< 0 to 1; with kl: share of labels that equal the full model's
  double loss = 0;      ///< mean over examples; with kl: the divergence from the full model
  friend bool operator==(const SubmodelScore&, const SubmodelScore&) = default;
};

/// Holds the table of STI 5.2, one score a shard.
struct Importance {
  Digest model;
  std::string metric;  ///< "accuracy", "loss" or "kl"
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
  /// [layers, width, gain_bits] how far the mean loss falls when this shard alone is raised from
  /// the fewest bits to these; negative where it rises.
  std::vector<double> gains;
  /// The digest of the tokenised examples and their labels (none by kl), in order (since 1.2);
  /// zero: unknown.
  Digest data;
  /// [layers, width] standard error of a score minus the baseline, each example its own control
  /// (since 1.2). May be empty.
  std::vector<double> errors;
  /// How the scores were estimated, "first-order" say (since 1.2); empty: they were measured.
  std::string estimate;
  /// Heads and neurons by what they are worth (since 1.3); empty: not asked for.
  ModelOrder order;
  WordUse word_use;  ///< of the examples (since 1.4); empty: not counted
  /// Levels that were measured for cascades (since 1.5), cheapest first: sorted by slices (depth x
  /// width), bits, depth; each once. Empty: none were.
  std::vector<CascadeLevelScore> cascade_levels;
  std::vector<CascadeScore> cascades;  ///< (since 1.5)
};

/// Returns whether there is an importance that counted words, so that it says which are frequent.
inline bool CountsWords(const Importance* importance) {
  return importance != nullptr && !importance->word_use.empty();
}

}  // namespace sti
