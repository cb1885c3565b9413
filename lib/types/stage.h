// A stage is one device's part of a model that is split over a cluster (EdgePipe 3): layers one
// behind another, and perhaps an end of the network. The first stage takes texts, the last gives
// what the head says, and between them go hidden rows. A plan for a cluster says what each stage
// runs; what one device needs of it, CutStage makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/kernel.h"
#include "types/shard_id.h"

namespace sti {

/// The ends of a network that a pass runs beside layers.
struct NetworkEnds {
  bool text = true;  ///< ids in, so tokenizer and embeddings; else hidden rows in
  bool head = true;  ///< the head's values out; else hidden rows out

  [[nodiscard]] bool whole() const { return text && head; }
  friend bool operator==(const NetworkEnds&, const NetworkEnds&) = default;
};

/// The part of a model that a stage runs: layers [begin, end), by original index, and ends.
struct StageExtent {
  uint32_t begin = 0;
  uint32_t end = 0;
  NetworkEnds ends;

  [[nodiscard]] bool HasLayer(uint32_t layer) const { return begin <= layer && layer < end; }
  friend bool operator==(const StageExtent&, const StageExtent&) = default;
};

/// One stage as it is planned. Times are in microseconds, by medians.
struct PlanStage {
  std::string device;  ///< the name that the cluster gives it (types/cluster.h)
  /// Positions of its layers in the plan, from `begin` to before `end`.
  uint32_t begin = 0;
  uint32_t end = 0;
  std::vector<ShardAtBits>
      preload;  ///< shards in its memory before a pass, a prefix in layer order
  uint64_t preload_bytes = 0;
  uint64_t staging_bytes = 0;         ///< arena for the others
  uint64_t predicted_peak_bytes = 0;  ///< of its process
  double period_us = 0;    ///< from the end of one pass to that of the next, which waits already
  double pass_us = 0;      ///< of one pass whose shards were read before it came, as staging allows
  double transfer_us = 0;  ///< sending what it gives for a pass; 0 of the last stage
  double delay_us = 0;     ///< from the last byte's leaving to its coming
  Kernel kernel;           ///< this and what follows: of the profile that it was planned with
  std::string read_path;
  std::optional<uint32_t> read_bytes;
  std::optional<uint32_t> read_depth;
  std::optional<uint32_t> read_streams;
  std::optional<uint32_t> threads;
  std::optional<std::string> cpus;
};

/// A plan's stages, and what they come to. One behind another they run all layers of the plan.
struct PlanStages {
  uint32_t microbatch = 1;      ///< most sequences of a pass
  double period_us = 0;         ///< the longest period or transfer of a stage
  double throughput_per_s = 0;  ///< sequences
  std::vector<PlanStage> stages;

  /// Returns the number of the stage on this device; nothing: none is.
  [[nodiscard]] std::optional<size_t> Find(std::string_view device) const;
};

}  // namespace sti
