#include "importance/flops.h"

#include <algorithm>

namespace sti {

BatchSize& BatchSize::operator+=(const BatchSize& other) {
  sequences += other.sequences;
  tokens += other.tokens;
  squares += other.squares;
  return *this;
}

BatchSize SizeOf(const Batch& batch) { return PaddedSize(batch, 0); }

BatchSize PaddedSize(const Batch& batch, uint32_t length) {
  BatchSize size;
  size.sequences = batch.sequences();
  for (uint32_t s = 0; s < batch.sequences(); ++s) {
    const uint64_t padded = std::max(batch.offsets[s + 1] - batch.offsets[s], length);
    size.tokens += padded;
    size.squares += padded * padded;
  }
  return size;
}

uint64_t ContextFlops(const ModelShape& shape, const BatchSize& size, uint32_t width,
                      OutputRows rows) {
  const bool first = rows == OutputRows::kFirst;
  const uint64_t asking = first ? size.sequences : size.tokens;
  const uint64_t columns = uint64_t{width} * shape.head_dim();
  const uint64_t products = 2 * columns * shape.hidden * (asking + 2 * size.tokens);
  return products + 4 * columns * (first ? size.tokens : size.squares);
}

uint64_t FinishFlops(const ModelShape& shape, uint64_t rows, uint32_t width) {
  const uint64_t columns = uint64_t{width} * (shape.head_dim() + 2 * shape.slice_ffn());
  return 2 * rows * columns * shape.hidden;
}

uint64_t LayerFlops(const ModelShape& shape, const BatchSize& size, uint32_t width,
                    OutputRows rows) {
  const uint64_t finished = rows == OutputRows::kFirst ? size.sequences : size.tokens;
  return ContextFlops(shape, size, width, rows) + FinishFlops(shape, finished, width);
}

uint64_t HeadFlops(const ModelShape& shape, uint64_t sequences) {
  return 2 * sequences * shape.hidden * (uint64_t{shape.hidden} + shape.labels);
}

uint64_t EvaluationFlops(const ModelShape& shape, const BatchSize& size, uint64_t layers,
                         uint32_t width) {
  return layers * LayerFlops(shape, size, width, OutputRows::kAll) +
         HeadFlops(shape, size.sequences);
}

}  // namespace sti
