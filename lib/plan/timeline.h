// The two lanes of the pipeline, played through: what a plan's latency will be.
//
// A picture of the lanes and a predicted latency come from the same play, so they cannot differ.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

/// What a lane is doing: kRows and kLoad on the IO lane, the others on the compute lane.
enum class Work : uint8_t { kRows, kLoad, kEmbed, kLayer, kHead };

/// One stretch of work, in microseconds from the moment the text is there. Spans of one lane follow
/// each other and never overlap; what lies between two of them is waiting.
struct WorkSpan {
  Work work = Work::kRows;
  size_t index = 0;  ///< kLoad: in the list of shards; kLayer: position among the executed layers
  double start_us = 0;
  double end_us = 0;
};

/// Microseconds from the start of the input to its label. The IO lane reads the embedding rows,
/// then `shards` in order; a layer starts when the one before has ended and its shards are there
/// (STI 5.5). `staging_bytes` bounds what is read and not yet freed; a layer's shards are freed
/// when it ends. Nothing if one layer alone needs more.
///
/// With a lead of `wake_us` the shards start that much before the text is there; the embedding rows
/// are known only then and go first, so a read under way ends later by their time.
///
/// `spans`, where given, receives what was played, lane by lane in the order it was decided; work
/// that takes no time is left out, layers and loads are not.
std::optional<double> PipelineLatency(const ComputeLane& lane,
                                      std::span<const StreamedShard> shards,
                                      std::optional<uint64_t> staging_bytes, double wake_us = 0,
                                      std::vector<WorkSpan>* spans = nullptr);

/// Microseconds when all IO comes before all compute (the load-exec baseline). `spans` as above.
double SerialLatency(const ComputeLane& lane, std::span<const StreamedShard> shards,
                     std::vector<WorkSpan>* spans = nullptr);

}  // namespace sti
