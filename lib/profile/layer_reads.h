// Lists the reads that loading a layer takes, for timing them and for reading beside what is timed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
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

/// Returns the same of every layer, [layers].
Result<std::vector<LayerReads>> ReadsOfLayersAtBits(const ContainerIndex& index, uint32_t bits,
                                                    uint32_t read_bytes);

/// Returns the bytes of the layer that has most; 0 of none.
uint64_t LargestLayer(std::span<const LayerReads> layers);

/// Returns the reads of one plane of every slice, which is what a later turn adds: the plane that
/// completes `bits` (3 to 6). Slices without it are left out.
LayerReads ReadsOfPlane(const ContainerIndex& index, uint32_t layer, uint32_t bits);

}  // namespace sti
