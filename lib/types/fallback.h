// The fallback of a plan is a submodel that lies in memory whole, at the fewest bits. A run whose
// reads do not come gives up on IO and computes with the fallback instead, so that its input has a
// label in time whatever the flash does.
//
// A run that gives up may have computed layers of its plan. It goes on from there if these and the
// fallback's later layers are together what the model runs at that depth; else the fallback starts
// from the embeddings. Planner and pipeline ask the same functions for what that takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "types/model_order.h"
#include "types/shard_id.h"

namespace sti {

/// Holds the quality that a plan is expected to have; nothing where it was not measured.
struct PredictedQuality {
  std::optional<double> loss;  ///< mean over examples, in the importance file's measure
  std::optional<double> accuracy;
  /// Share of inputs that get the label which the full model gives them: all that is known where
  /// the importance was measured by kl, without labels.
  std::optional<double> agreement;
  /// Instead of both, of a model that embeds: the mean cosine with the full model's embeddings, or
  /// Spearman's correlation with the scores of pairs, whichever the importance measured; -1 to 1.
  std::optional<double> cosine = {};
  std::optional<double> spearman = {};
  /// Instead of an accuracy, of a model that labels tokens: the F1 of spans, 0 to 1.
  std::optional<double> f1 = {};
};

/// Holds the fallback of a plan or of a variant. Its times are 99th percentiles, in microseconds.
struct Fallback {
  std::vector<uint32_t> layers;  ///< original indexes executed, ascending
  uint32_t width = 0;            ///< slices of each layer: 0 up to width - 1
  uint32_t bits = 0;             ///< bits of every shard
  uint64_t bytes = 0;            ///< its shards and rows in the preload buffer, beside the preload
  double embed_us = 0;           ///< summing the embedding rows
  double layer_us = 0;           ///< each layer but the last
  double last_layer_us = 0;      ///< the last layer, which gives first tokens only
  double head_us = 0;
  double margin_us = 0;  ///< kept free at the end, for who waited and wakes up a little late
  PredictedQuality quality;
  /// Bits that the guarantee costs: the sum over the shards of the plan that would be made without
  /// it, minus that over this plan's.
  double cost_bits = 0;

  /// Returns the time of all of it from the summing of embedding rows on, the margin with it: the
  /// last moment to give up on the rows is that much before the target.
  [[nodiscard]] double reserve_us() const;
  /// Returns the time of the layers from the `first`-th on and of the head, the margin with it.
  [[nodiscard]] double LayersUs(size_t first) const;
};

/// Returns the time that is kept free of a target for what nobody plans: a wake-up that comes late,
/// a page fault.
double WakingMarginUs(double target_us);

/// Returns each shard of the fallback, in layer order.
std::vector<ShardAtBits> ShardsOf(const Fallback& fallback);

/// Returns the first of the fallback's layers that a run still has to compute if it gives up when
/// it has computed the first `done` of the layers `planned`; nothing if it has to start from the
/// embeddings, because no depth of the model runs these layers. `depths` may be empty: a depth of n
/// runs the first n layers.
std::optional<size_t> FallbackGoesOnAt(const Fallback& fallback, std::span<const uint32_t> planned,
                                       size_t done, const DepthMap& depths);

/// Returns [planned] how long before the target the shards of each layer must have come, so that a
/// run can give up without them, or compute the layer in `layer_us` and give up behind it.
std::vector<double> GiveUpTimes(const Fallback& fallback, std::span<const uint32_t> planned,
                                double layer_us, const DepthMap& depths);

/// Returns the time that a run needs if it gives up when it has computed the first `done` of the
/// layers `planned`, the margin with it.
double FallbackNeedUs(const Fallback& fallback, std::span<const uint32_t> planned, size_t done,
                      const DepthMap& depths);

}  // namespace sti
