// A plan (STI 5): which submodel runs, each shard's bits, and what stays in memory. A plan runs n
// layers of m slices; a position (k, i) names the i-th slice of the k-th of these layers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "types/cascade.h"
#include "types/fallback.h"
#include "types/grid.h"
#include "types/kernel.h"
#include "types/shard_id.h"
#include "types/stage.h"
#include "types/strategy.h"
#include "types/submodel.h"

namespace sti {

/// Holds the plan of one of several inputs that come back to back (STI 3.3): all run one submodel,
/// with fidelity never lower than in the turn before.
struct PlanTurn {
  Grid<uint32_t> bits;  ///< [n, m] bits that the turn computes with
  /// Shards in memory when the turn begins, a prefix in layer order. Where `bits` has more for a
  /// shard, its missing planes are read.
  std::vector<ShardAtBits> preload;
  uint64_t preload_bytes = 0;  ///< bytes that the preloaded shards occupy
  uint64_t read_bytes = 0;     ///< bytes of shards that the turn reads
  std::vector<double> aib_us;  ///< [n] left over
  double predicted_latency_us = 0;
  double predicted_p99_us = 0;
  PredictedQuality quality;
};

/// Holds the times of one run under a plan, by medians where not said otherwise, for comparison
/// with real runs.
struct PlanTimes {
  double start_us = 0;    ///< a cold start's own work before the text's tokens are known; else 0
  double open_io_us = 0;  ///< a cold start's reads before the embedding rows; else 0
  double embed_io_us = 0;
  double embed_us = 0;
  double layer_us = 0;  ///< one layer of the plan's width
  double layer_p99_us = 0;
  double head_us = 0;
  double stall_us = 0;              ///< compute lane waiting for IO, embedding rows included
  std::vector<double> layer_io_us;  ///< [n] loading what each layer streams
  /// The last layer, which gives first tokens only; nothing: as any other.
  std::optional<double> last_layer_us = {};
  std::optional<double> last_layer_p99_us = {};
  double head_io_us = 0;  ///< reading the rows of all words for the head; 0: none are read

  /// Returns the time of the k-th of the plan's layers.
  [[nodiscard]] double LayerUs(size_t k) const {
    return k + 1 == layer_io_us.size() ? last_layer_us.value_or(layer_us) : layer_us;
  }
};

/// Says what working memory must hold: passes of up to `sequences`, and of up to `tokens` tokens in
/// all, through layers of `width` slices and these ends of the network.
struct PlanExtent {
  uint32_t tokens = 0;
  uint32_t width = 0;
  uint32_t sequences = 1;
  NetworkEnds ends = {};
  uint32_t context = 0;           ///< as PlanCore::context
  uint32_t depth = 0;             ///< layers whose keys and values are kept for it
  bool keeps_vocabulary = false;  ///< as PlanCore::keeps_vocabulary
};

/// A submodel as it is planned: what a plan, each of its variants and each level of its cascade say
/// of what they run, each for itself. Plain data, safe to share between threads while nobody
/// writes.
struct PlanCore {
  Digest model;
  Digest shape;
  Strategy strategy = Strategy::kOther;  ///< how it was made
  std::string other_strategy;            ///< what a plan file says where it is kOther
  uint32_t length = 0;                   ///< input length planned for, in tokens
  std::vector<uint32_t> layers;          ///< original indexes executed, in order; n entries
  uint32_t width = 0;                    ///< m
  Grid<uint32_t> slices;                 ///< [n, m] stored slice indexes
  Grid<uint32_t> bits;                   ///< [n, m]
  /// Shards that are in memory before a run, a prefix in layer order.
  std::vector<ShardAtBits> preload;
  uint64_t preload_bytes = 0;  ///< bytes that preloaded shards, and rows of a whole plan, occupy
  std::vector<double> aib_us;  ///< [n] left over; empty where the strategy has none
  std::optional<double> slack_us;
  std::optional<double> target_us;
  bool meets_target = true;
  double predicted_latency_us = 0;  ///< by medians
  double predicted_p99_us = 0;
  uint64_t predicted_peak_bytes = 0;
  PredictedQuality quality;
  uint64_t parameter_bytes = 0;   ///< bytes of all its shards, as stored
  Kernel kernel;                  ///< kernel of the profile that it was planned with
  std::string read_path;          ///< read path of the profile that it was planned with
  std::optional<double> wake_us;  ///< lead time before the text is there, spent on IO
  std::optional<uint64_t> freq;   ///< kHz that compute was planned at
  std::optional<PlanTimes> times;
  /// Arena for streamed shards that the predictions count on: the least that delays nothing, or
  /// what the memory leaves.
  std::optional<uint64_t> staging_bytes;
  std::optional<uint32_t> read_bytes;  ///< largest merged read, as profiled
  std::optional<uint32_t> read_depth;  ///< reads in flight through an open file, as profiled
  /// Open files of the container that reads go through, as profiled; nothing: one.
  std::optional<uint32_t> read_streams;
  /// Agents that read layers side by side, each one piece at a time through an open file of its own
  /// (Hermes, III); 0: the reads go layer by layer.
  uint32_t agents = 0;
  bool cold = false;                ///< predictions are from process start to label
  std::optional<uint32_t> threads;  ///< of the compute lane, as profiled
  std::optional<std::string> cpus;  ///< cores that were profiled, such as "4-7"
  /// The share of the embedding rows' time in the profile that predictions count on, since others
  /// are in memory: at the median, and at the 99th percentile. 0 to 1.
  double row_share = 1;
  double row_p99_share = 1;
  /// The submodel that a run computes with when it gives up on IO; nothing: no label is guaranteed.
  std::optional<Fallback> fallback;
  /// The ends of the network beside `layers`, those of a stage; a plan in a file has both.
  NetworkEnds ends = {};
  /// The most sequences, each of up to `length` tokens, that a run takes together: of a stage, or
  /// of images.
  uint32_t microbatch = 1;
  /// The most tokens of a text that is continued, those that are made of it included; 0: each pass
  /// has all of its sequences, and none is kept.
  uint32_t context = 0;
  /// Whether the rows of all words stay in memory for the head of a model that continues texts;
  /// otherwise each pass reads them.
  bool keeps_vocabulary = false;

  /// Returns the most tokens of a run, all sequences together.
  [[nodiscard]] uint32_t most_tokens() const { return length * microbatch; }
  /// Returns the shard at position (k, i).
  [[nodiscard]] ShardId Id(uint32_t k, uint32_t i) const { return {layers[k], slices.At(k, i)}; }
  /// Returns the input that it is planned for, and the widest layer of it and its fallback.
  [[nodiscard]] PlanExtent Extent() const;
  /// Sets the strategy that a plan file names.
  void SetStrategy(std::string name);
  /// Returns the strategy as a plan file names it.
  [[nodiscard]] std::string strategy_name() const {
    return strategy == Strategy::kOther ? other_strategy : std::string(NameOf(strategy));
  }
};

/// One level of a cascade before the last.
struct CascadeLevel {
  /// The submodel, for the same model, length and kernel as the plan itself, without a fallback.
  /// The first level's `preload` is what the preload buffer holds while a cascade runs; a later
  /// one's is empty.
  PlanCore plan;
  double temperature = 1;  ///< τ, which logits are divided by for a confidence
  CascadeRule rule = {};   ///< how an input goes on from here
  /// Bytes that the next level reads: what it runs and no level before has left in memory.
  uint64_t upgrade_bytes = 0;
};

/// Holds what a plan does before its own submodel runs: inputs go through cascade levels of one
/// container, cheapest first, until one is sure (Tabi 3). The plan itself is the last level, and
/// outside of this it describes how it runs alone. Times are in microseconds.
struct PlanCascade {
  std::vector<CascadeLevel> levels;  ///< before the plan itself, in order: one or two
  double temperature = 1;            ///< τ of the last level, the plan itself
  std::vector<double> return_share;  ///< [levels] of all inputs, what each level returns early
  /// [levels + 1] from the text to the label of an input that this level answers, by medians.
  std::vector<double> path_us = {};
  double mean_us = 0;             ///< mean of `path_us` over inputs, weighted by their shares
  double worst_path_us = 0;       ///< 99th percentile of an input that goes through all levels
  PredictedQuality quality = {};  ///< of the labels that the cascade gives

  /// Returns the predicted median latency, that of the level which answers the middle one of all
  /// inputs; nothing if `path_us` is not known.
  [[nodiscard]] std::optional<double> MedianPathUs() const;
};

/// A plan file's content: a submodel as it is planned, and what a variant or a level has no part
/// in.
struct Plan : PlanCore {
  /// Words whose embedding rows stay in memory, as part of the preload buffer, for the plan and its
  /// variants; ascending.
  std::vector<uint32_t> words = {};
  /// Further input lengths and clock frequencies. Their `preload` is the part of this plan's that
  /// they run, at the same bits: one buffer serves all. All have a fallback exactly if the plan
  /// does, and start cold exactly if it does.
  std::vector<PlanCore> variants = {};
  /// Bytes that may stay in memory between turns; at least preload_bytes. Nothing without turns.
  std::optional<uint64_t> turn_bytes = {};
  std::vector<PlanTurn> turns = {};  ///< the first is this plan itself; empty: not asked for
  /// Submodels that an input goes through before this one; nothing: there are none. A plan with a
  /// cascade has no variants, no turns and no fallback, and is not cold.
  std::optional<PlanCascade> cascade = {};
  /// Devices that the model is split over, each of which runs a stage; nothing: one runs it whole,
  /// as any can. A plan with stages has no more than a submodel besides, and preloads nothing
  /// itself.
  std::optional<PlanStages> staged = {};

  /// Returns the longest input and the widest layer of the plan, its variants, its cascade levels
  /// and fallbacks.
  [[nodiscard]] PlanExtent Extent() const;
};

/// Returns the submodel that the plan runs.
inline Submodel SubmodelOf(const PlanCore& plan) {
  return {static_cast<uint32_t>(plan.layers.size()), plan.width};
}

/// Returns a digest of what a plan computes: its layers, with the slices and the bits of each.
/// Embeddings of a model compare exactly where it is the same, whatever is preloaded.
Digest SubmodelDigest(const PlanCore& plan);

/// Returns the plan by which the device of the `number`-th of a plan's stages runs it: its layers
/// and ends alone, with what the stage says of memory and the device.
Plan CutStage(const Plan& plan, size_t number);

/// Returns the part of the model that this stage of a plan runs.
StageExtent ExtentOfStage(const Plan& plan, size_t number);

/// Has `plan` run these layers, by original index, with their slices 0..width-1 at uniform bits.
void RunUniformly(std::span<const uint32_t> layers, uint32_t width, uint32_t bits, PlanCore* plan);

/// The words whose rows the head gets at once where a pass reads them.
struct WordGroup {
  uint32_t rows = 1;   ///< of each group but the last, which may have fewer
  uint64_t bytes = 0;  ///< the most that reading one moves, in whole blocks
};

/// Returns the groups of `rows` words, each of so many bytes: as many as a few merged reads bring,
/// which is little beside a layer. `read_bytes` is a plan's.
WordGroup WordGroupOf(std::optional<uint32_t> read_bytes, uint32_t rows, uint32_t row_bytes);

/// Returns the bytes of shards that a run of the plan reads, where `row_bytes` of what it preloads
/// are embedding rows.
uint64_t StreamedBytes(const PlanCore& plan, uint64_t row_bytes);

/// Returns those of `shards`, in their order, that `held` and the ones before them do not have at
/// as many bits. Shards at fewer bits than all share planes; at full fidelity they share nothing.
std::vector<ShardAtBits> ShardsBeside(std::span<const ShardAtBits> held,
                                      std::span<const ShardAtBits> shards);

/// Returns the shards that the fallbacks of a plan and of its variants hold beside the preload:
/// none that is there at as many bits.
std::vector<ShardAtBits> FallbackShards(const Plan& plan);

}  // namespace sti
