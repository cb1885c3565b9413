// How many floating-point operations work takes: two for each multiply-add of the matrix products
// and of attention. Norms, activations and softmax, under a hundredth of it, are not counted.
#pragma once

#include <cstdint>
#include <span>

#include "model/batch.h"
#include "types/model_info.h"

namespace sti {

/// The sizes that the cost of sequences follows from.
struct BatchSize {
  uint64_t sequences = 0;
  uint64_t tokens = 0;
  uint64_t squares = 0;  ///< sum of the squares of the lengths
  [[nodiscard]] uint64_t Count(OutputRows rows) const {
    return rows == OutputRows::kAll ? tokens : sequences;
  }
  BatchSize& operator+=(const BatchSize& other);
};

BatchSize SizeOf(const Batch& batch);
/// Returns the sizes of a batch with every sequence padded to at least `length`.
BatchSize PaddedSize(const Batch& batch, uint32_t length);

/// Return the operations of Transformer::ComputeContext and of FinishLayer, for `width` slices.
uint64_t ContextFlops(const ModelShape& shape, const BatchSize& size, uint32_t width,
                      OutputRows rows);
uint64_t FinishFlops(const ModelShape& shape, uint64_t rows, uint32_t width);
/// Return the operations of a whole layer, and of the head.
uint64_t LayerFlops(const ModelShape& shape, const BatchSize& size, uint32_t width,
                    OutputRows rows);
uint64_t HeadFlops(const ModelShape& shape, uint64_t rows);

/// Returns the operations of a plain evaluation: every row of `layers` layers of `width` slices,
/// and the head.
uint64_t EvaluationFlops(const ModelShape& shape, OutputRows head_rows, const BatchSize& size,
                         uint64_t layers, uint32_t width);

}  // namespace sti
