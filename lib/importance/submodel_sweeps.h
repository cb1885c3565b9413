// Decides which submodels are measured (STI 4.1), and in which order, so that they share
// computation.
#pragma once

#include <cstdint>
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

}  // namespace sti
