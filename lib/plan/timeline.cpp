#include "plan/timeline.h"

#include <algorithm>
#include <vector>

namespace sti {
namespace {

/// The pipeline at work: what each lane has reached.
class Lanes {
 public:
  Lanes(const ComputeLane& lane, std::optional<uint64_t> staging_bytes)
      : lane_(lane), staging_bytes_(staging_bytes), staged_(lane.layers), ends_us_(lane.layers) {
    io_us_ = lane.fixed.embed_io_us;
    compute_us_ = io_us_ + lane.fixed.embed_us;
  }

  /// Runs layers up to, but not including, `position`; their shards have all been read.
  void ComputeUntil(uint32_t position) {
    for (; next_ < position; ++next_) {
      const double start_us = std::max(compute_us_, staged_[next_] > 0 ? io_us_ : 0.0);
      compute_us_ = ends_us_[next_] = start_us + lane_.layer_us;
    }
  }

  /// Reads one shard as soon as there is room; false if there never is.
  bool Read(const StreamedShard& shard) {
    if (!MakeRoom(shard.bytes)) return false;
    io_us_ += shard.load_us;
    used_ += shard.bytes;
    staged_[shard.position] += shard.bytes;
    return true;
  }

  [[nodiscard]] double compute_us() const { return compute_us_; }

 private:
  bool MakeRoom(uint64_t bytes) {
    if (!staging_bytes_) return true;
    while (bytes > *staging_bytes_ || used_ > *staging_bytes_ - bytes) {
      if (oldest_ >= next_) return false;  // only this very layer is staged
      if (staged_[oldest_] > 0) io_us_ = std::max(io_us_, ends_us_[oldest_]);
      used_ -= staged_[oldest_];
      ++oldest_;
    }
    return true;
  }

  const ComputeLane& lane_;
  const std::optional<uint64_t> staging_bytes_;
  std::vector<uint64_t> staged_;  ///< bytes read for each layer
  std::vector<double> ends_us_;   ///< when each computed layer ended
  double io_us_ = 0;
  double compute_us_ = 0;
  uint64_t used_ = 0;    ///< bytes staged now
  uint32_t next_ = 0;    ///< layer to compute next
  uint32_t oldest_ = 0;  ///< first layer not freed
};

}  // namespace

std::optional<double> PipelineLatency(const ComputeLane& lane,
                                      std::span<const StreamedShard> shards,
                                      std::optional<uint64_t> staging_bytes) {
  Lanes lanes(lane, staging_bytes);
  for (const StreamedShard& shard : shards) {
    lanes.ComputeUntil(shard.position);
    if (!lanes.Read(shard)) return std::nullopt;
  }
  lanes.ComputeUntil(lane.layers);
  return lanes.compute_us() + lane.fixed.head_us;
}

double SerialLatency(const ComputeLane& lane, std::span<const StreamedShard> shards) {
  double latency_us = lane.fixed.embed_io_us + lane.fixed.compute_us();
  for (const StreamedShard& shard : shards) latency_us += shard.load_us;
  return latency_us + static_cast<double>(lane.layers) * lane.layer_us;
}

}  // namespace sti
