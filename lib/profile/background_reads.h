// The reads that loading a layer takes, and a thread that makes them while a layer is measured, as
// many as a run makes beside it. Moving bytes costs CPU time too: on a fast disk an IO lane at full
// speed takes a good part of a core, on slow flash next to nothing. Measured beside the reads of
// one layer, T_comp says what a layer takes in a pipeline that streams, neither alone nor beside a
// lane that never rests.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "format/container_index.h"
#include "io/block_reader.h"
#include "profile/read_sweep.h"
#include "schedule/load_schedule.h"

namespace sti {

/// Holds the reads of a whole layer, each shard's on its own, since neighbours at other bits do not
/// merge in a run either. Only `offset`, `length` and `place` of a read are set.
struct LayerReads {
  std::vector<ScheduledRead> reads;
  uint64_t bytes = 0;  ///< bytes of all reads, and of the memory that they need
};

/// Returns the reads of all slices at `bits`, which the container offers; neighbouring parts of a
/// shard merge up to `read_bytes`.
Result<LayerReads> ReadsAtBits(const ContainerIndex& index, uint32_t layer, uint32_t bits,
                               uint32_t read_bytes);

/// Returns the same of every layer that the container has whole at `bits`, [layers].
Result<std::vector<LayerReads>> ReadsOfLayersAtBits(const ContainerIndex& index, uint32_t bits,
                                                    uint32_t read_bytes);

/// Returns the bytes of the layer that has most; 0 of none.
uint64_t LargestLayer(std::span<const LayerReads> layers);

/// Returns the reads of one plane of every slice, which is what a later turn adds: the plane that
/// completes `bits` (3 to 6). Slices without it are left out.
LayerReads ReadsOfPlane(const ContainerIndex& index, uint32_t layer, uint32_t bits);

/// Loads layers one after another, in a thread of its own, whenever it is asked to: with as many
/// reads in flight as a run has, checksums computed, into memory as large as that of several
/// layers, so that no cache holds what comes next. One thread at a time.
class BackgroundReads {
 public:
  /// Opens `source` a second time.
  static Result<std::unique_ptr<BackgroundReads>> Start(
      const BlockSourcePtr& source, ReadPath way, const std::vector<LayerReads>& layers,
      const ReadShape& shape = {kUsualReadBytes, BlockReader::kDefaultDepth});
  ~BackgroundReads();
  BackgroundReads(const BackgroundReads&) = delete;
  BackgroundReads& operator=(const BackgroundReads&) = delete;

  /// Asks for the first `share` of the next layer's reads, and returns at once. A load under way
  /// goes on, and the new one follows it, in place of one that was asked for and has not begun.
  void Load(double share);
  /// Drops a load that has not begun; returns when nothing is in flight.
  void Pause();
  /// Returns how many loads have ended.
  [[nodiscard]] uint64_t loads();

 private:
  BackgroundReads(std::unique_ptr<BlockReader> reader, const std::vector<LayerReads>& layers);
  void Main();

  AlignedBuffer arena_;  // outlives the reader, which is told of it
  std::unique_ptr<BlockReader> reader_;
  std::vector<std::vector<ReadRequest>> requests_;  // [layers]
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;  // by mutex_, as are the next
  double wanted_ = 0;  // share of the load that comes next; 0: none was asked for
  bool reading_ = false;
  uint64_t loads_ = 0;
  uint64_t checksums_ = 0;  // so that they are computed, as a lane does for what arrives
  std::thread thread_;
};

}  // namespace sti
