// The two lanes of the pipeline, played through: what a plan's latency will be.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "plan/device_model.h"

namespace sti {

/// A shard that is read while the pipeline runs.
struct StreamedShard {
  uint32_t position = 0;  ///< of its layer among the executed ones, ascending
  uint64_t bytes = 0;
  double load_us = 0;
};

/// The compute lane: embeddings, `layers` layers of `layer_us`, head.
struct ComputeLane {
  FixedTimes fixed;
  uint32_t layers = 0;
  double layer_us = 0;
};

/// Microseconds from the start of the input to its label. The IO lane reads the embedding rows,
/// then `shards` in order; a layer starts when the one before has ended and its shards are there
/// (STI 5.5). `staging_bytes` bounds what is read and not yet freed; a layer's shards are freed
/// when it ends. Nothing if one layer alone needs more.
std::optional<double> PipelineLatency(const ComputeLane& lane,
                                      std::span<const StreamedShard> shards,
                                      std::optional<uint64_t> staging_bytes);

/// Microseconds when all IO comes before all compute (the load-exec baseline).
double SerialLatency(const ComputeLane& lane, std::span<const StreamedShard> shards);

}  // namespace sti
