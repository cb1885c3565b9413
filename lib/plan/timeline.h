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

/// The compute lane: embeddings, `layers` layers, head.
struct ComputeLane {
  FixedTimes fixed;
  uint32_t layers = 0;
  double layer_us = 0;        ///< of each layer but the last
  double last_us = layer_us;  ///< of the last one
  /// For a cold start, [layers + 1]: the time of reading what each layer needs beside shards,
  /// before its shards, and what the head needs, behind the last shard. Else empty.
  std::vector<double> part_us = {};
  std::vector<uint64_t> part_bytes = {};  ///< the same parts, which take staging as shards do

  [[nodiscard]] double LayerUs(size_t k) const { return k + 1 < layers ? layer_us : last_us; }
  /// All layers together.
  [[nodiscard]] double layers_us() const {
    return layers == 0 ? 0 : static_cast<double>(layers - 1) * layer_us + last_us;
  }
  /// All that is computed.
  [[nodiscard]] double compute_us() const { return fixed.compute_us() + layers_us(); }
};

/// The kinds of work of a lane: up to kLoad the IO lane, from kEmbed on the compute lane. kOpen is
/// what a cold start does before its rows; a play counts it to them.
enum class Work : uint8_t { kOpen, kRows, kPart, kLoad, kEmbed, kLayer, kHead };

/// On the IO lane.
constexpr bool IsIo(Work work) { return work <= Work::kLoad; }

/// One stretch of work, in microseconds from the moment the text is there. Spans of one lane follow
/// each other and never overlap; what lies between two of them is waiting.
struct WorkSpan {
  Work work = Work::kRows;
  /// kLoad: in the list of shards; kLayer and kPart: position among the executed layers, the number
  /// of layers for the head's part.
  size_t index = 0;
  double start_us = 0;
  double end_us = 0;
};

/// Microseconds from the start of the input to its label. The IO lane reads the embedding rows,
/// then `shards` in order, of a cold start behind each layer's part; a layer starts when the one
/// before has ended and its shards are there (STI 5.5). `staging_bytes` bounds what is read and not
/// yet freed; a layer's shards are freed when it ends. Nothing if one layer alone needs more.
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
