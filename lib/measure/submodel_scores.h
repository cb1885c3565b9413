// What submodels reach (STI 4.1), all shards of one at one bitwidth: A(n, m) and its loss.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "measure/batch_runner.h"
#include "types/importance.h"

namespace sti {

/// Measures each (n, m) that the model was trained for at its most and its fewest bits, and N x M
/// at every bitwidth. Depths of one width and bitwidth that begin with the same layers share their
/// computation, which changes no bit of the result. One thread at a time.
class SubmodelMeter {
 public:
  explicit SubmodelMeter(const ContainerIndex& index);

  /// Of each batch.
  [[nodiscard]] uint64_t evaluations() const;
  /// Adds the batch that `runner` has begun; all bitwidths are loaded.
  [[nodiscard]] Status MeasureBatch(BatchRunner& runner, Evaluations& evaluations);
  /// Sorted by depth, width, bits.
  [[nodiscard]] std::vector<SubmodelScore> Scores() const;

 private:
  struct Depth {
    std::vector<uint32_t> layers;  ///< original indexes
    Outcomes outcomes;
  };
  struct Sweep {
    uint32_t width;
    uint32_t bits;
    std::vector<Depth> depths;  ///< in lexicographic order, so that equal beginnings are neighbours
  };
  Status MeasureSweep(BatchRunner& runner, Evaluations& evaluations, Sweep& sweep);

  std::vector<Sweep> sweeps_;
  std::vector<std::vector<float>> hidden_;  // [n]: after the first n layers of the depth at hand
};

}  // namespace sti
