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
#include "types/importance_part.h"

namespace sti {

/// Holds the submodels of one width and bitwidth. Depths that begin with the same layers share
/// them.
struct SubmodelSweep {
  struct Depth {
    std::vector<uint32_t> layers;  ///< original indexes
    size_t cell = 0;               ///< index in SubmodelPlan::cells
    size_t shared = 0;             ///< layers that the depth before begins with too
    bool leaf = true;  ///< whether the next depth does not begin with all of these layers
  };
  uint32_t width = 0;
  uint32_t bits = 0;
  std::vector<Depth> depths;  ///< in lexicographic order, so that equal beginnings are neighbours

  /// Returns whether a depth shares exactly `layers` layers with the one before, which has more.
  [[nodiscard]] bool BranchesAt(size_t layers) const;
};

/// Holds all submodels that are measured, and the sweeps that measure them.
struct SubmodelPlan {
  std::vector<SubmodelSweep> sweeps;
  std::vector<SubmodelCell> cells;  ///< sorted by depth, width, bits
  size_t branches = 0;              ///< most points that one sweep branches at
};

/// Plans to measure each (n, m) at its most and its fewest bits, and N x M at every bitwidth: of an
/// elastic model the widths that it was trained for, of a plain one all.
SubmodelPlan PlanSubmodels(const ContainerIndex& index);

/// Return the floating-point operations of a sweep, and those of plain evaluations of its
/// submodels.
uint64_t SweepFlops(const ModelShape& shape, OutputRows head_rows, const BatchSize& size,
                    const SubmodelSweep& sweep);
uint64_t PlainSweepFlops(const ModelShape& shape, OutputRows head_rows, const BatchSize& size,
                         const SubmodelSweep& sweep);

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
  bool reference = false;  ///< the full model runs too
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

  /// Returns the floating-point operations of these units, done together.
  [[nodiscard]] uint64_t Flops(UnitRange range) const;
  /// Returns the cost of these units by plain evaluations, one for each shard, bitwidth and
  /// submodel, if the examples of `chunks` were these: the list's own, or padded ones.
  [[nodiscard]] uint64_t PlainFlops(UnitRange range, std::span<const BatchSize> chunks) const;

  /// Returns part `part` (from 1) of `parts`: stretches of about equal cost that make up the line.
  /// Empty only where there are more parts than units.
  [[nodiscard]] UnitRange Part(uint64_t part, uint64_t parts) const;

 private:
  [[nodiscard]] uint64_t UnitFlops(const BatchSize& chunk, uint64_t unit) const;
  [[nodiscard]] uint64_t PlainUnitFlops(const BatchSize& chunk, uint64_t unit) const;

  WorkShape shape_;
  std::vector<BatchSize> chunks_;
};

}  // namespace sti
