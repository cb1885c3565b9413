// The work of a measurement in one line, so that any stretch of it can be done anywhere.
//
// Examples come in chunks, which follow from the data alone. Units of a chunk: the base; each shard
// raised, row-major; each sweep of submodels. Costs are in floating-point operations and are known
// before anything is computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/container_index.h"
#include "importance/flops.h"
#include "importance/submodel_sweeps.h"

namespace sti {

/// Units [begin, end).
struct UnitRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// The measurements that are made of every chunk.
struct WorkShape {
  ModelShape model;
  OutputRows head_rows = OutputRows::kFirst;  ///< that the head wants of the last layer
  std::vector<uint32_t> raised_bits;          ///< ascending; the last is the most
  SubmodelPlan submodels;
  bool reference = false;  ///< the full model runs too, for kl
};

/// Immutable, so thread-safe.
class WorkList {
 public:
  WorkList(WorkShape shape, std::vector<BatchSize> chunks);

  [[nodiscard]] const WorkShape& shape() const { return shape_; }
  [[nodiscard]] uint64_t units() const { return units_per_chunk() * chunks_.size(); }
  [[nodiscard]] uint64_t shards() const {
    return uint64_t{shape_.model.layers} * shape_.model.width;
  }
  [[nodiscard]] uint64_t units_per_chunk() const {
    return 1 + shards() + shape_.submodels.sweeps.size();
  }

  /// Floating-point operations of these units, done together.
  [[nodiscard]] uint64_t Flops(UnitRange range) const;
  /// Returns the cost of these units by plain evaluations, one for each shard, bitwidth and
  /// submodel, if the examples of `chunks` were these: the list's own, or padded ones.
  [[nodiscard]] uint64_t PlainFlops(UnitRange range, std::span<const BatchSize> chunks) const;

  /// Part `part` (from 1) of `parts`: stretches of about equal cost that make up the line. Empty
  /// only where there are more parts than units.
  [[nodiscard]] UnitRange Part(uint64_t part, uint64_t parts) const;

 private:
  [[nodiscard]] uint64_t UnitFlops(const BatchSize& chunk, uint64_t unit) const;
  [[nodiscard]] uint64_t PlainUnitFlops(const BatchSize& chunk, uint64_t unit) const;

  WorkShape shape_;
  std::vector<BatchSize> chunks_;
};

}  // namespace sti
